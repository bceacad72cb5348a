import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import * as zlib from "node:zlib";
import { runProgram } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { selfSigned } from "../support/self-signed.ts";
import { tempDirectory } from "../support/temp-directory.ts";

type Settings = Readonly<Record<string, string>>;

async function check(settings: Settings, ...options: string[]): Promise<{ code: number; err: string[]; out: string }> {
  const terminal = createFakeTerminal(["config", "check", ...options], { SVC_API_PORT: "0", ...settings });
  const code = await runProgram(terminal);
  const err = terminal.written.err.split("\n").filter((line) => line !== "" && !line.includes("no input is on"));
  return { code, err, out: terminal.written.out };
}

test("zstd is for a Node that has it; the others say so, and do not start", async () => {
  const outputs = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_OUTPUT_KAFKA_ENABLE: "true",
    SVC_OUTPUT_KAFKA_PRODUCER_COMPRESSION: "zstd",
    SVC_OUTPUT_KAFKA__EDGE__ENABLE: "true",
    SVC_OUTPUT_KAFKA__EDGE__PRODUCER_COMPRESSION: "4",
    SVC_OUTPUT_CRIBL_ENABLE: "false",
    SVC_OUTPUT_CRIBL_COMPRESSION: "zstd",
  };
  const hasZstd = "zstdCompress" in zlib;
  const problems = [
    "SVC_OUTPUT_KAFKA_PRODUCER_COMPRESSION cannot be zstd",
    "SVC_OUTPUT_KAFKA__EDGE__PRODUCER_COMPRESSION cannot be zstd",
  ].map((problem) => `error: ${problem} with Node ${process.version}: 22.15 or later is needed`);
  const { code, err } = await check(outputs);
  assert.deepEqual([code, err], hasZstd ? [0, []] : [78, problems]);
  if (hasZstd) return;
  const terminal = createFakeTerminal(["serve"], { SVC_API_PORT: "0", ...outputs });
  assert.equal(await runProgram(terminal), 78);
  assert.deepEqual(terminal.written.err.split("\n").slice(0, 2), problems);
});

test("Explore needs a directory, or the output to ClickHouse with its own names", async () => {
  const on = { SVC_FLOW_SERVER_UDP_ENABLE: "true", SVC_OUTPUT_STDOUT_ENABLE: "true", SVC_EXPLORE_ENABLE: "true" };
  const embedded = await check(on);
  assert.deepEqual(embedded.err, ["error: SVC_EXPLORE_PATH must be set, because SVC_EXPLORE_ENABLE is true"]);
  const fields = await check({ ...on, SVC_EXPLORE_PATH: ".", SVC_EXPLORE_FIELDS: "flow.src.mac.addr,no.such" });
  assert.deepEqual(fields.err, ['error: SVC_EXPLORE_FIELDS: records have no field "no.such" of a known type']);
  const stored = await check({ ...on, SVC_EXPLORE_STORE: "clickhouse", SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE: "true" });
  assert.deepEqual(stored.err, [
    "error: SVC_OUTPUT_CLICKHOUSE_ENABLE must be true, because SVC_EXPLORE_STORE is clickhouse",
    "error: SVC_OUTPUT_CLICKHOUSE_ECS_ENABLE must be false, because SVC_EXPLORE_STORE is clickhouse",
  ]);
});

test("certificates and keys must belong together, of the API and of outputs that are on", async (t) => {
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const [one, other] = [selfSigned(), selfSigned()];
  const [cert, key, wrongKey] = [file("c.pem", one.cert), file("k.pem", one.key), file("w.pem", other.key)];
  const api = (certPath: string, keyPath: string): Settings => ({
    SVC_API_TLS_ENABLE: "true",
    SVC_API_TLS_CERT_FILEPATH: certPath,
    SVC_API_TLS_KEY_FILEPATH: keyPath,
  });
  assert.equal((await check(api(cert, key))).code, 0);
  const mismatch = await check(api(cert, wrongKey));
  assert.equal(mismatch.code, 78);
  assert.deepEqual(mismatch.err, [
    `error: API: TLS: the key in ${wrongKey} does not belong to the certificate in ${cert}`,
  ]);
  assert.match((await check(api(join(directory, "none.pem"), key))).err[0] ?? "", /^error: API: .*none\.pem/);
  const flows = await check({
    SVC_FLOW_SERVER_TLS_ENABLE: "true",
    SVC_FLOW_SERVER_TLS_CERT_FILEPATH: cert,
    SVC_FLOW_SERVER_TLS_KEY_FILEPATH: wrongKey,
    SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH: key,
    SVC_OUTPUT_STDOUT_ENABLE: "true",
  });
  assert.equal(flows.code, 78);
  assert.match(flows.err[0] ?? "", /^error: flows: TLS: the key in .*w\.pem does not belong to/);
  assert.match(flows.err[1] ?? "", /^error: flows: TLS: cannot read .*k\.pem/);
  const output = {
    SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: "https://192.0.2.1/in",
    SVC_OUTPUT_GENERIC_HTTP_TLS_CA_CERT_FILEPATH: key,
    SVC_OUTPUT_GENERIC_HTTP_TLS_CERT_FILEPATH: cert,
  };
  const client = await check(output);
  assert.match(client.err[0] ?? "", /^error: output http: TLS: cannot read .*k\.pem/);
  assert.equal(client.err[1], "error: output http: a client certificate needs a key, and a key a certificate");
  assert.equal((await check({ ...output, SVC_OUTPUT_GENERIC_HTTP_ENABLE: "no" })).code, 0);
});

test("fields to leave out that are nearly fields are warnings, also of a named output; metadata is none", async () => {
  const { code, err } = await check({
    SVC_OUTPUT_STDOUT_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_DROP_FIELDS:
      "flow.src.ip.adr,flow.dst.ip.addr,src,dst.host.name,flow.src.site.name,site.name,source.ip",
    SVC_OUTPUT_KAFKA__EDGE__DROP_FIELDS: "flow.byte",
  });
  assert.equal(code, 0);
  const warnings = err.filter((line) => line.includes("DROP_FIELDS"));
  assert.deepEqual(warnings, [
    "warning: SVC_PROCESSOR_DROP_FIELDS: records have no field flow.src.ip.adr: is flow.src.ip.addr meant?",
    "warning: SVC_PROCESSOR_DROP_FIELDS: records have no field src: is flow.src.ip.addr meant?",
    "warning: SVC_PROCESSOR_DROP_FIELDS: records have no field dst.host.name: is flow.dst.host.name meant?",
    "warning: SVC_PROCESSOR_DROP_FIELDS: records have no field source.ip: is flow.src.ip.addr meant?",
    "warning: SVC_OUTPUT_KAFKA__EDGE__DROP_FIELDS: records have no field flow.byte: is flow.bytes meant?",
  ]);
});

test("a broken metadata file is an error with all its faults; a missing one is none, unless its folder is", async (t) => {
  const path = join(tempDirectory(t), "ipaddrs.yml");
  const settings = (file: string): Settings => ({
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: file,
  });
  assert.equal((await check(settings(path))).code, 0);
  writeFileSync(path, "10.0.0.300:\n10.0.0.1:\n  vlan: x\n10.0.0.2:\n  nmae: x\n");
  const broken = await check(settings(path));
  assert.equal(broken.code, 78);
  assert.match(broken.err[0] ?? "", /^warning: .*ipaddrs\.yml:5:3: field "nmae"/);
  assert.match(broken.err[1] ?? "", /ipaddrs\.yml:1:1: key/);
  assert.match(broken.err[2] ?? "", /ipaddrs\.yml:3:9: vlan/);
  const nowhere = await check(settings("/nowhere/at/all/ipaddrs.yml"));
  assert.equal(nowhere.code, 78);
  assert.deepEqual(nowhere.err, ["error: /nowhere/at/all/ipaddrs.yml: there is no directory /nowhere/at/all"]);
});

test("what is written must be writable: a file in place of a directory, a directory in place of a file", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "file"), "");
  mkdirSync(join(directory, "folder"));
  const found = await check({
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: join(directory, "folder"),
    SVC_STATE_DIRECTORY_PATH: join(directory, "file", "below"),
    SVC_LOGGER_FILE_LOG_ENABLE: "true",
    SVC_LOGGER_FILE_LOG_FILENAME: join(directory, "file", "a.log"),
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "file", "ipaddrs.yml"),
  });
  assert.equal(found.code, 78);
  assert.match(
    found.err[0] ?? "",
    /^warning: SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: changes by the API cannot be written to .*: is not a directory$/,
  );
  assert.match(found.err[1] ?? "", /^warning: SVC_LOGGER_FILE_LOG_FILENAME: .*a\.log: /);
  assert.match(found.err[2] ?? "", /^error: .*ipaddrs\.yml: ENOTDIR/);
  assert.match(found.err[3] ?? "", /^error: SVC_OUTPUT_FILE_PATH: .*folder: is a directory$/);
  assert.match(found.err[4] ?? "", /^error: SVC_STATE_DIRECTORY_PATH: .*below: /);
  const good = await check({
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: join(directory, "new", "records.ndjson"),
    SVC_STATE_DIRECTORY_PATH: join(directory, "state", "deep"),
  });
  assert.deepEqual([good.code, good.err], [0, []]);
});

test("busy ports are found, unless the collector runs that has them open", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  const socket = createSocket("udp4");
  cleanUp(t, () => {
    server.close();
    socket.close();
  });
  await once(server, "listening");
  socket.bind({ port: 0, address: "127.0.0.1", exclusive: true });
  await once(socket, "listening");
  const tcp = (server.address() as AddressInfo).port;
  const udp = socket.address().port;
  const settings = {
    SVC_API_PORT: String(tcp),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: String(udp),
    SVC_FLOW_SERVER_TCP_ENABLE: "true",
    SVC_FLOW_SERVER_TCP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_TCP_PORT: String(tcp),
    SVC_INPUT_TRAP_ENABLE: "true",
    SVC_INPUT_TRAP_LISTENER_IP: "127.0.0.1",
    SVC_INPUT_TRAP_LISTENER_PORT: String(udp),
    SVC_OUTPUT_MONITOR_ENABLE: "true",
    SVC_OUTPUT_STDOUT_ENABLE: "true",
  };
  const busy = await check(settings);
  assert.equal(busy.code, 78);
  assert.deepEqual(busy.err, [
    `error: SVC_API_PORT: TCP port ${tcp} on 127.0.0.1: is in use by another process`,
    `error: SVC_FLOW_SERVER_TCP_PORT: TCP port ${tcp} on 127.0.0.1: is in use by another process`,
    `error: SVC_FLOW_SERVER_UDP_PORT: UDP port ${udp} on 127.0.0.1: is in use by another process`,
    `error: SVC_INPUT_TRAP_LISTENER_PORT: UDP port ${udp} on 127.0.0.1: is in use by another process`,
  ]);
  assert.deepEqual((await check(settings, "--running")).err, []);
});

test("a port that two settings have, and an address that no interface has, are found", async () => {
  const [free, udp] = [createServer().listen(0, "127.0.0.1"), createSocket("udp4").bind(0, "127.0.0.1")];
  await Promise.all([once(free, "listening"), once(udp, "listening")]);
  const [tcpPort, udpPort] = [(free.address() as AddressInfo).port, udp.address().port];
  free.close();
  udp.close();
  await Promise.all([once(free, "close"), once(udp, "close")]);
  const { code, err } = await check({
    SVC_API_PORT: String(tcpPort),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: String(udpPort),
    SVC_FLOW_SERVER_TCP_ENABLE: "true",
    SVC_FLOW_SERVER_TCP_PORT: String(tcpPort),
    SVC_INPUT_TRAP_ENABLE: "true",
    SVC_INPUT_TRAP_LISTENER_IP: "192.0.2.1",
    SVC_INPUT_TRAP_LISTENER_PORT: "8162",
    SVC_OUTPUT_STDOUT_ENABLE: "true",
  });
  assert.equal(code, 78);
  assert.deepEqual(err, [
    `error: SVC_FLOW_SERVER_TCP_PORT: TCP port ${tcpPort}: SVC_API_PORT has it, too`,
    "error: SVC_INPUT_TRAP_LISTENER_PORT: UDP port 8162 on 192.0.2.1: no interface of this host has the address (EADDRNOTAVAIL)",
  ]);
});

test("SNMP definitions are judged when devices are to be polled", async (t) => {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "a.yml"), "r1: {ip: 192.0.2.1, communties: [x]}\n");
  const settings = { SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: directory, SVC_OUTPUT_STDOUT_ENABLE: "true" };
  assert.equal((await check({ ...settings, SVC_INPUT_SNMP_ENABLE: "false" })).code, 0);
  const bad = await check({ ...settings, SVC_INPUT_SNMP_ENABLE: "true" });
  assert.equal(bad.code, 78);
  assert.match(bad.err[0] ?? "", /^error: .*a\.yml:1:\d+: /);
});

test("devices that are polled more often than every two leases of the fleet are named", async (t) => {
  const directory = tempDirectory(t);
  const device = (n: number, more: string): string => `r${n}: {ip: 192.0.2.${n}, communities: [x]${more}}\n`;
  const quick = ", poll_intervals: {dynamic: 20}";
  writeFileSync(join(directory, "a.yml"), [device(1, quick), device(2, ""), device(3, quick)].join(""));
  const settings = {
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: directory,
    SVC_OUTPUT_STDOUT_ENABLE: "true",
    SVC_FLEET_NAME: "fra",
    SVC_FLEET_POSTGRESQL_URL: "postgresql://netgloss@127.0.0.1/netgloss",
  };
  const { code, err } = await check(settings);
  assert.equal(code, 0);
  assert.deepEqual(err, [
    "warning: device 192.0.2.1:161 and 1 more: polled every 20 s, less than twice SVC_FLEET_LEASE_SECONDS (15): when its collector dies, it may be missed for longer than two intervals",
  ]);
  assert.deepEqual((await check({ ...settings, SVC_FLEET_LEASE_SECONDS: "10" })).err, []);
  assert.deepEqual((await check({ ...settings, SVC_FLEET_SNMP_ENABLE: "false" })).err, []);
});

test("SNMP directories of the old prefix are checked alone: sysObjectIDs of ours do not miss their groups", async (t) => {
  const directory = tempDirectory(t);
  const files = {
    devices: "lab: {ip: 192.0.2.1, communities: [public], device_groups: [own]}\n",
    device_groups: "own: {object_groups: [own_netif]}\n",
    object_groups: "own_netif: {objects: ['IF-MIB::ifEntry']}\n",
    objects:
      "IF-MIB::ifEntry:\n  index: [{type: Integer, oid: .1.3.6.1.2.1.2.2.1.1, name: netif, syntax: InterfaceIndex}]\n" +
      "  attributes: {ifPhysAddress: {oid: .1.3.6.1.2.1.2.2.1.6, name: netif.mac, syntax: PhysAddress, tag: true}}\n",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, "own.yml"), text);
  }
  const settings = {
    EF_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: join(directory, "devices"),
    EF_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: join(directory, "device_groups"),
    EF_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: join(directory, "object_groups"),
    EF_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: join(directory, "objects"),
    EF_INPUT_SNMP_PERSIST_ENABLE: "false",
    SVC_OUTPUT_STDOUT_ENABLE: "true",
  };
  const { code, err } = await check(settings);
  assert.deepEqual(
    err.filter((line) => !/by the prefix EF_/.test(line)),
    [],
  );
  assert.equal(code, 0);
});

test("sign-in at an issuer needs an issuer, a client, a way back and a role", async () => {
  assert.deepEqual(await check({ SVC_API_OIDC_ENABLE: "true", SVC_API_OIDC_SCOPES: "profile" }), {
    code: 78,
    err: [
      "error: SVC_API_OIDC_ISSUER must be set, because SVC_API_OIDC_ENABLE is true",
      "error: SVC_API_OIDC_CLIENT_ID must be set, because SVC_API_OIDC_ENABLE is true",
      "error: SVC_API_OIDC_REDIRECT_URL must be set, because SVC_API_OIDC_ENABLE is true",
      "error: SVC_API_OIDC_SCOPES must have openid",
      "error: SVC_API_OIDC_ROLES must be set, because without a role nobody can sign in",
    ],
    out: "",
  });
  const good = {
    SVC_API_OIDC_ENABLE: "true",
    SVC_API_OIDC_ISSUER: "https://sso.example/realms/noc",
    SVC_API_OIDC_CLIENT_ID: "netgloss",
    SVC_API_OIDC_REDIRECT_URL: "https://noc.example/login/callback",
    SVC_API_OIDC_ROLES: "cn=noc=editor,*=viewer",
  };
  assert.equal((await check(good)).code, 0);
  assert.equal((await check({ ...good, SVC_API_OIDC_ISSUER: "http://127.0.0.1:9000" })).code, 0);
  const clear = {
    SVC_API_OIDC_ISSUER: "http://sso.example",
    SVC_API_OIDC_REDIRECT_URL: "https://noc.example/callback",
  };
  assert.deepEqual((await check({ ...good, ...clear })).err, [
    "error: SVC_API_OIDC_ISSUER must be an https URL, because it is on another host",
    "error: SVC_API_OIDC_REDIRECT_URL must end with /login/callback",
  ]);
  assert.deepEqual((await check({ ...good, SVC_API_OIDC_REDIRECT_URL: "http://noc.example/login/callback" })).err, [
    "warning: SVC_API_OIDC_REDIRECT_URL is of http: whoever can read the network can take over sessions",
  ]);
  for (const roles of ["noc", "noc=root", "=admin", "noc=admin,noc=viewer"]) {
    assert.equal((await check({ ...good, SVC_API_OIDC_ROLES: roles })).code, 78, roles);
  }
});

test("what will probably not do what is meant is a warning: an open port, no input, a spool without a place, SNMP without devices", async (t) => {
  const output = {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_OUTPUT_KAFKA_ENABLE: "true",
    SVC_OUTPUT_KAFKA_BROKERS: "127.0.0.1:9092",
  };
  const warnings = async (settings: Settings): Promise<string[]> => {
    const { code, err } = await check(settings);
    assert.equal(code, 0);
    return err.map((line) => line.replace(/^warning: /, ""));
  };
  const open =
    "SVC_API_IP: the API on 0.0.0.0 is reachable from other hosts without authentication: set SVC_API_BASIC_AUTH_ENABLE, SVC_API_USERS_PATH or SVC_API_OIDC_ENABLE";
  assert.deepEqual(await warnings({ ...output, SVC_API_IP: "0.0.0.0" }), [open]);
  const guarded = {
    SVC_API_IP: "0.0.0.0",
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "o",
    SVC_API_BASIC_AUTH_PASSWORD: "p",
  };
  assert.deepEqual(await warnings({ ...output, ...guarded }), []);
  const rules = join(tempDirectory(t), "watch.yml");
  writeFileSync(rules, "rules: []\n");
  const watched = { ...output, SVC_WATCH_RULES_PATH: rules, SVC_STATE_DIRECTORY_PATH: tempDirectory(t) };
  assert.deepEqual(await warnings(watched), []);
  for (const [SVC_WATCH_ANSWERS, may] of [
    ["approve", "allow and withdraw"],
    ["automatic", "withdraw"],
  ] as const) {
    assert.deepEqual(await warnings({ ...watched, SVC_WATCH_ANSWERS }), [
      `SVC_WATCH_ANSWERS: it is ${SVC_WATCH_ANSWERS}, and everybody who reaches the API may ${may} routes: set SVC_API_BASIC_AUTH_ENABLE, SVC_API_USERS_PATH or SVC_API_OIDC_ENABLE`,
    ]);
    assert.deepEqual(await warnings({ ...watched, ...guarded, SVC_WATCH_ANSWERS }), []);
  }
  const two = { SVC_WATCH_ANSWERS: "approve", SVC_WATCH_ANSWERS_APPROVALS: "2" };
  assert.match((await warnings({ ...watched, ...guarded, ...two })).join("\n"), /^SVC_WATCH_ANSWERS_APPROVALS: two /);

  assert.deepEqual(await warnings({ ...output, SVC_OUTPUT_KAFKA_SPOOL_MODE: "overflow" }), [
    "SVC_OUTPUT_KAFKA_SPOOL_MODE asks for a spool, but there is none: SVC_STATE_DIRECTORY_PATH is empty",
  ]);
  const edge = {
    SVC_OUTPUT_KAFKA__EDGE__ENABLE: "true",
    SVC_OUTPUT_KAFKA__EDGE__BROKERS: "127.0.0.1:9092",
    SVC_OUTPUT_KAFKA__EDGE__SPOOL_MAX_SIZE: "8MiB",
  };
  assert.deepEqual(await warnings({ ...output, ...edge }), [
    "SVC_OUTPUT_KAFKA__EDGE__SPOOL_MAX_SIZE asks for a spool, but there is none: SVC_STATE_DIRECTORY_PATH is empty",
  ]);
  const place = { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) };
  assert.deepEqual(await warnings({ ...output, ...edge, ...place, SVC_OUTPUT_KAFKA_SPOOL_MODE: "overflow" }), []);

  const devices = tempDirectory(t);
  const snmp = {
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: devices,
    SVC_OUTPUT_STDOUT_ENABLE: "true",
  };
  assert.deepEqual(await warnings(snmp), [
    `SVC_INPUT_SNMP_ENABLE is true, but there is no device to poll in ${devices}, and SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH names no networks`,
  ]);

  const terminal = createFakeTerminal(["config", "check"], { SVC_API_PORT: "0" });
  await runProgram(terminal);
  assert.match(terminal.written.err, /^warning: no input is on: /);
});
