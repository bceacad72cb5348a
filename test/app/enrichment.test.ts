import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { createFakeTerminal, type FakeTerminal } from "../support/fake-terminal.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { mmdbFile } from "../support/mmdb-file.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

for (const pool of ["main", "1"]) {
  test(`a flow gets place, system, host name and locality by the settings, threads: ${pool}`, async (t) => {
    const directory = tempDirectory(t);
    const asn = join(directory, "asn.mmdb");
    const city = join(directory, "city.mmdb");
    writeFileSync(
      asn,
      mmdbFile({ "198.51.100.0/24": { autonomous_system_number: 64_500, autonomous_system_organization: "Example" } }),
    );
    const place = (code: string): Buffer =>
      mmdbFile({ "198.51.100.0/24": { country: { iso_code: code, names: { en: `${code} in words` } } } });
    writeFileSync(city, place("NL"));
    const server = await startDnsServer(t);
    server.answers.set("10.0.0.1", ["laptop.example.net"]);
    const { collector, send } = await startFlowCollector(t, {
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: asn,
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: city,
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES: "country_code",
      SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: server.address,
      SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC: "false",
      SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: "true",
      SVC_PROCESSOR_POOL_SIZE: pool,
    });
    const datagram = netflowV5Datagram([{ source: "10.0.0.1", destination: "198.51.100.7" }]);
    const added = (record: Readonly<Record<string, unknown>>): unknown =>
      Object.fromEntries(
        Object.entries(record).filter(([name]) =>
          /^flow\.(?:(?:src|dst)\.(?:as|geo|host|locality)(?:\.|$)|locality)/.test(name),
        ),
      );

    const known = {
      "flow.src.as.asn": 0,
      "flow.dst.as.asn": 64_500,
      "flow.dst.as.org": "Example",
      "flow.dst.as.label": "Example (64500)",
      "flow.dst.geo.country.code": "NL",
      "flow.src.locality": "private",
      "flow.dst.locality": "public",
      "flow.locality": "public",
    };
    assert.deepEqual(added(await send(datagram)), known);
    await until("the name", async () => (await collector.metrics.value("netgloss_enrich_dns_names_total")) === 1);
    assert.deepEqual(added(await send(datagram)), { ...known, "flow.src.host.name": "laptop.example.net" });

    // One thread decodes, and no other reads the databases.
    assert.equal(await collector.metrics.value("netgloss_enrich_mmdb_loads_total", { database: "geoip" }), 1);
    writeFileSync(city, place("BE"));
    collector.reload();
    await until("the place", async () => (await send(datagram))["flow.dst.geo.country.code"] === "BE");
  });
}

test("a flow gets names of interfaces, ports and code points; SIGHUP reads the files again", async (t) => {
  const directory = tempDirectory(t);
  const netifs = join(directory, "netifs.yml");
  const ports = join(directory, "ports.yml");
  writeFileSync(netifs, "127.0.0.0/8: {0: {name: uplink, metadata: {.provider: Example}}}");
  writeFileSync(ports, "udp: {1000: probe}");
  const { collector, send } = await startFlowCollector(t, {
    SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: netifs,
    SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH: ports,
    SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE: "true",
  });
  const datagram = netflowV5Datagram([{ source: "10.0.0.1", destination: "198.51.100.7" }]);
  const record = await send(datagram);
  assert.equal(record["flow.in.netif.name"], "uplink");
  assert.equal(record["flow.out.netif.provider"], "Example");
  assert.equal(record["flow.src.l4.port.name"], "probe");
  assert.equal(record["flow.dst.l4.port.name"], "domain");
  assert.equal(record["ip.dscp.name"], "CS0");

  writeFileSync(netifs, "127.0.0.1: {0: {name: backup}}");
  collector.reload();
  const changed = await until("the new name", async () => {
    const next = await send(datagram);
    return next["flow.in.netif.name"] === "backup" && next;
  });
  assert.equal(changed["flow.in.netif.provider"], undefined);
});

test("own host names, selections and sampling rates come from files; a missing file degrades readiness", async (t) => {
  const directory = tempDirectory(t);
  const file = (name: string, text?: string): string => {
    const path = join(directory, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
  };
  const names = file("user_defined.yml", "10.0.0.1: laptop");
  const rates = file("sample_rate.yml", "127.0.0.1: 100");
  const missing = file("incl_excl.yml");
  const { collector, send } = await startFlowCollector(t, {
    SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: names,
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: file("city.mmdb", ""),
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH: missing,
    SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: rates,
  }).catch((error: unknown) => ({ collector: undefined, send: undefined, error }));
  assert.ok(send === undefined && collector === undefined, "a database that is empty is broken: nothing starts");

  writeFileSync(join(directory, "city.mmdb"), mmdbFile({ "198.51.100.0/24": { country: { iso_code: "NL" } } }));
  const running = await startFlowCollector(t, {
    SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: names,
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: join(directory, "city.mmdb"),
    SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH: missing,
    SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: rates,
  });
  const check = running.collector.health.checks().find(({ name }) => name === "enrichment files");
  assert.deepEqual(check, { name: "enrichment files", ready: true, degraded: true, detail: `not there: ${missing}` });
  const datagram = netflowV5Datagram([{ source: "10.0.0.1", destination: "198.51.100.7" }]);
  const record = await running.send(datagram);
  assert.equal(record["flow.src.host.name"], "laptop");
  assert.equal(record["flow.dst.geo.country.code"], "NL");
  assert.equal(record["flow.sample_rate"], 100);

  writeFileSync(missing, "exclude: [198.51.100.0/24]");
  writeFileSync(names, "10.0.0.1: desktop");
  writeFileSync(rates, "127.0.0.1: 50");
  running.collector.reload();
  await until("all changes", async () => {
    const next = await running.send(datagram);
    return (
      next["flow.src.host.name"] === "desktop" &&
      next["flow.dst.geo.country.code"] === undefined &&
      next["flow.sample_rate"] === 50
    );
  });
});

test("serve ends with 78 over a broken file, naming its place; a missing one is logged once, whatever decodes", async (t) => {
  const directory = tempDirectory(t);
  const netifs = join(directory, "netifs.yml");
  const start = (pool: string): FakeTerminal => {
    return createFakeTerminal(["serve"], {
      SVC_API_PORT: "0",
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_UDP_PORT: "0",
      SVC_OUTPUT_STDOUT_ENABLE: "true",
      SVC_PROCESSOR_POOL_SIZE: pool,
      SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: netifs,
    });
  };
  writeFileSync(netifs, "192.0.2.1:\n  x: {name: a}\n");
  const broken = start("main");
  assert.equal(await runProgram(broken), 78);
  assert.ok(broken.written.err.includes(`${netifs}:2:3: `), broken.written.err);

  for (const pool of ["main", "1"]) {
    rmSync(netifs, { force: true });
    const missing = start(pool);
    const code = runProgram(missing);
    await until("the start", () => missing.written.err.includes("netgloss is ready"));
    missing.signals.emit("SIGTERM", "SIGTERM");
    assert.equal(await code, 0);
    assert.equal(missing.written.err.split(netifs).length - 1, 1, missing.written.err);
  }
});

test("config check names what is wrong in the files, and what is ignored", async (t) => {
  const directory = tempDirectory(t);
  const netifs = join(directory, "netifs.yml");
  const ports = join(directory, "ports.yml");
  writeFileSync(netifs, "192.0.2.1:\n  1: {name: a, cirIn: 7}\n");
  writeFileSync(ports, "tcp:\n  80: web\n  http: 80\n");
  const terminal = createFakeTerminal(["config", "check", "--running"], {
    SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: netifs,
    SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH: ports,
  });
  assert.equal(await runProgram(terminal), 78);
  const { err } = terminal.written;
  assert.ok(
    err.includes(`warning: ${netifs}:2:16: exporter 192.0.2.1: interface 1: cirIn: unknown key is ignored\n`),
    err,
  );
  assert.ok(err.includes(`error: ${ports}:3:3: tcp: http: expected a port from 0 to 65535, found "http"\n`), err);
});

test("config check judges the databases", async (t) => {
  const directory = tempDirectory(t);
  const good = join(directory, "good.mmdb");
  const bad = join(directory, "bad.mmdb");
  writeFileSync(good, mmdbFile({ "198.51.100.0/24": {} }));
  writeFileSync(bad, "no database");
  const check = async (path: string): Promise<{ code: number; err: string }> => {
    const terminal = createFakeTerminal(["config", "check", "--running"], {
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: path,
    });
    return { code: await runProgram(terminal), err: terminal.written.err };
  };
  assert.equal((await check(good)).code, 0);
  const refused = await check(bad);
  assert.equal(refused.code, 78);
  assert.ok(refused.err.includes(`error: ${bad}: `), refused.err);
  const missing = await check(join(directory, "none.mmdb"));
  assert.equal(missing.code, 0);
  assert.match(missing.err, /^warning: .*none\.mmdb: no such file: records go without it$/m);
});
