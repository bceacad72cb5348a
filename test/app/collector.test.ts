import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createCollector, readSettings, type Collector } from "../../src/app/index.ts";
import { createLog, silentLog, systemClock, type Log } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Running {
  readonly collector: Collector;
  readonly directory: string;
  readonly call: (method: string, request: unknown) => Promise<{ status: number; body: Fields }>;
  readonly get: (path: string) => Promise<{ status: number; text: string }>;
  /** Sends one flow and returns its record from the output file. */
  readonly flow: (source: string, destination: string) => Promise<Fields>;
}

async function start(t: TestContext, settings: Record<string, string> = {}, log: Log = silentLog): Promise<Running> {
  const directory = tempDirectory(t);
  const output = join(directory, "flows.ndjson");
  const given: Record<string, string> = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
    SVC_API_PORT: "0",
    // Threads are tested elsewhere; here each would cost as much as all the rest of a test.
    SVC_PROCESSOR_POOL_SIZE: "main",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_OUTPUT_FILE_ENABLE: "true",
    SVC_OUTPUT_FILE_PATH: output,
    ...settings,
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const reading = readSettings([layer], () => "");
  const collector = createCollector({ settings: reading.settings, log, clock: systemClock, version: "0.0.0" });
  await collector.start();
  const socket = createSocket("udp4");
  let lines = 0;
  cleanUp(t, async () => {
    socket.close();
    await collector.stop();
  });
  const base = `http://127.0.0.1:${collector.apiPort()}`;
  return {
    collector,
    directory,
    async call(method, request) {
      const response = await fetch(`${base}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      return { status: response.status, body: (await response.json()) as Fields };
    },
    async get(path) {
      const response = await fetch(base + path);
      return { status: response.status, text: await response.text() };
    },
    async flow(source, destination) {
      const [port] = collector.flowPorts();
      socket.send(netflowV5Datagram([{ source, destination }], lines), port, "127.0.0.1");
      const line = await until("the record in the file", () => {
        const text = readFileSync(output, "utf8");
        return text.endsWith("\n") && text.split("\n").length - 1 > lines && text.split("\n")[lines];
      });
      lines++;
      return JSON.parse(line) as Fields;
    },
  };
}

test("an entry made by the API is on the next record, and a change of it on the one after", async (t) => {
  const { call, flow, directory } = await start(t, { SVC_PROCESSOR_POOL_SIZE: "1" });
  const udm = { key: "10.1.0.0/16", name: "office", tags: ["lan"], vlan: 7, metadata: { ".site": "HQ" } };
  const created = await call("CreateUdm", { udm });
  assert.equal(created.status, 200);

  const record = await flow("10.1.2.3", "192.0.2.9");
  assert.equal(record["flow.src.ip.addr"], "10.1.2.3");
  assert.equal(record["flow.src.ip.subnet.name"], "office");
  assert.deepEqual(record["flow.src.ip.subnet.tags"], ["lan"]);
  assert.equal(record["flow.src.site"], "HQ");
  assert.equal(record["flow.dst.ip.subnet.name"], undefined);
  assert.equal(record["flow.export.type"], "netflow");

  await call("UpdateUdm", { udm: { key: "10.1.0.0/16", name: "lab" }, update_mask: "name" });
  assert.equal((await flow("10.1.2.3", "192.0.2.9"))["flow.src.ip.subnet.name"], "lab");
  await call("DeleteUdm", { key: "10.1.0.0/16" });
  assert.equal((await flow("10.1.2.3", "192.0.2.9"))["flow.src.ip.subnet.name"], undefined);
  assert.equal(readFileSync(join(directory, "ipaddrs.yml"), "utf8").includes("10.1.0.0"), false);
});

test("health and metrics are there, and show what happened", async (t) => {
  const { call, flow, get, collector } = await start(t);
  await call("CreateUdm", { udm: { key: "10.1.2.3" } });
  await flow("10.1.2.3", "192.0.2.9");
  assert.equal((await get("/livez")).status, 200);
  assert.equal((await get("/readyz")).status, 200);
  const { status, text } = await get("/metrics");
  assert.equal(status, 200);
  for (const name of [
    "netgloss_build_info",
    "process_resident_memory_bytes",
    "process_open_fds",
    "nodejs_eventloop_lag_p99_seconds",
  ]) {
    assert.match(text, new RegExp(`^${name}[ {]`, "m"), name);
  }
  assert.equal(
    await collector.metrics.value("netgloss_build_info", { version: "0.0.0", node: process.versions.node }),
    1,
  );
});

const contractSettings = {
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "false",
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "false",
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: "",
};

for (const [name, value] of Object.entries(contractSettings)) {
  test(`without ${name} the methods answer unimplemented; message and log name it`, async (t) => {
    let logged = "";
    const log = createLog({ level: "info", format: "text", destination: { write: (line) => (logged += line) } });
    const { call } = await start(t, { [name]: value }, log);
    const { status, body } = await call("CountUdms", {});
    assert.equal(status, 501);
    assert.equal(body["code"], "unimplemented");
    const others = Object.keys(contractSettings).filter((other) => other !== name);
    assert.ok(String(body["message"]).includes(name), String(body["message"]));
    assert.ok(logged.includes(name), logged);
    for (const other of others) assert.ok(!String(body["message"]).includes(other), other);
  });
}

test("with the API off the file is read, and read again on SIGHUP", async (t) => {
  const directory = tempDirectory(t);
  const path = join(directory, "ipaddrs.yml");
  writeFileSync(path, "10.1.2.3:\n  name: before\n");
  let logged = "";
  const log = createLog({ level: "info", format: "text", destination: { write: (line) => (logged += line) } });
  const settings = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "false",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
  };
  const { flow, collector } = await start(t, settings, log);
  assert.equal((await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"], "before");
  writeFileSync(path, "10.1.2.3:\n  name: afterwards\n");
  collector.reload();
  assert.match(logged, / SIGHUP readsAgain=\["metadata file"\] leavesAlone=\["settings: only a restart reads them"\]/);
  await until("the file is read again", async () => {
    return (await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"] === "afterwards";
  });
});

test("with the API on SIGHUP says that it leaves the metadata file alone", async (t) => {
  let logged = "";
  const log = createLog({ level: "info", format: "text", destination: { write: (line) => (logged += line) } });
  const { collector } = await start(t, {}, log);
  collector.reload();
  assert.match(logged, / SIGHUP readsAgain=\[\] leavesAlone=\[.*"metadata file: the API owns it/);
});

test("over a broken file flows run, methods answer unavailable, and SIGHUP tries again", async (t) => {
  const directory = tempDirectory(t);
  const path = join(directory, "ipaddrs.yml");
  const broken = "10.1.2.3:\n  name: [x\n";
  writeFileSync(path, broken);
  const { call, flow, get, collector } = await start(t, { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path });
  const { status, body } = await call("CreateUdm", { udm: { key: "10.0.0.1" } });
  assert.equal(status, 503);
  assert.match(String(body["message"]), /ipaddrs\.yml:3:1/);
  assert.equal((await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"], undefined);
  const readiness = await get("/readyz");
  assert.equal(readiness.status, 503);
  assert.match(readiness.text, /ipaddrs\.yml:3:1/);
  assert.equal(readFileSync(path, "utf8"), broken);

  writeFileSync(path, "10.1.2.3:\n  name: mended\n");
  collector.reload();
  await until("ready", async () => (await get("/readyz")).status === 200);
  assert.equal((await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"], "mended");
  assert.equal((await call("CreateUdm", { udm: { key: "10.0.0.1" } })).status, 200);
});

test("without the cache's invalidation a change waits, as documented", async (t) => {
  const { call, flow } = await start(t, { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE: "false" });
  await call("CreateUdm", { udm: { key: "10.1.2.3", name: "first" } });
  assert.equal((await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"], "first");
  await call("UpdateUdm", { udm: { key: "10.1.2.3", name: "second" } });
  assert.equal((await flow("10.1.2.3", "10.0.0.1"))["flow.src.ip.subnet.name"], "first");
});

test("a port in use fails the start with one clear error and leaves nothing open", async (t) => {
  const { collector, directory } = await start(t);
  const layer = [
    { name: "SVC_API_PORT", text: String(collector.apiPort()), origin: "test" },
    { name: "SVC_FLOW_SERVER_UDP_ENABLE", text: "true", origin: "test" },
    { name: "SVC_FLOW_SERVER_UDP_IP", text: "127.0.0.1", origin: "test" },
    { name: "SVC_FLOW_SERVER_UDP_PORT", text: "0", origin: "test" },
    { name: "SVC_OUTPUT_FILE_ENABLE", text: "true", origin: "test" },
    { name: "SVC_OUTPUT_FILE_PATH", text: join(directory, "other.ndjson"), origin: "test" },
  ];
  const { settings } = readSettings([layer], () => "");
  const second = createCollector({ settings, log: silentLog, clock: systemClock, version: "0.0.0" });
  await assert.rejects(second.start(), /API port, TCP port \d+ of 127\.0\.0\.1: another program has it.*EADDRINUSE/);
  assert.throws(() => second.apiPort());
});
