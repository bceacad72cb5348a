import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { Doctor, readSockets, type HostFiles } from "../../src/app/doctor/doctor.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("doctor: what threads of their own counted is seen, too", async (t) => {
  const { collector, port, run } = await start(t, "1");
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  socket.send(Buffer.from("hello"), port, "127.0.0.1");
  const unknown = { protocol: "unknown" };
  await until(
    "a datagram",
    async () => (await collector.metrics.value("netgloss_flow_datagrams_total", unknown)) === 1,
  );
  const { code, out } = await run();
  assert.equal(code, 1);
  assert.match(
    out,
    /^WARNING not-understood\n {2}Of 1 datagram received 1 are neither NetFlow, IPFIX nor sFlow v5\.$/m,
  );
});

interface Running {
  readonly collector: ReturnType<typeof createCollector>;
  readonly port: number;
  readonly run: (...argv: string[]) => Promise<{ code: number; out: string; err: string }>;
}

async function start(t: TestContext, poolSize: string, more: Record<string, string> = {}): Promise<Running> {
  const { settings } = readSettings(
    [
      Object.entries({
        SVC_API_PORT: "0",
        SVC_FLOW_SERVER_UDP_ENABLE: "true",
        SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
        SVC_FLOW_SERVER_UDP_PORT: "0",
        SVC_PROCESSOR_POOL_SIZE: poolSize,
        ...more,
      }).map(([name, text]) => ({ name, text, origin: "test" })),
    ],
    () => "",
  );
  const collector = createCollector({ settings, log: silentLog, clock: systemClock, version: "0" });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const run = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    const terminal = createFakeTerminal(["doctor", ...argv, "--url", `http://127.0.0.1:${collector.apiPort()}`]);
    return { code: await runProgram(terminal), ...terminal.written };
  };

  const [port = 0] = collector.flowPorts();
  return { collector, port, run };
}

test("doctor: an exporter is called by its name in the metadata", async (t) => {
  const path = join(tempDirectory(t), "ipaddrs.yml");
  writeFileSync(path, "127.0.0.0/8: { name: loopback }\n127.0.0.1: { name: edge-2 }\n");
  const { collector, port, run } = await start(t, "main", {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
  });
  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  socket.send(netflow5([{}], { seconds: 86_400 }), port, "127.0.0.1");
  await until("an exporter", async () => (await collector.metrics.value("netgloss_flow_exporters")) === 1);
  assert.match((await run()).out, /^ {2}The clock of edge-2 \(127\.0\.0\.1\) was never set/m);
  assert.match((await run("127.0.0.9")).out, /^ {2}No datagram has come from loopback \(127\.0\.0\.9\) in /m);
});

test("doctor: sentences and JSON of a running collector, and exit codes", async (t) => {
  const { collector, port, run } = await start(t, "main");
  const early = await run();
  assert.equal(early.code, 0, early.out);
  assert.equal(early.out, `No findings so far: nothing has been received yet (0 exporters, flow port ${port}).\n`);

  const socket = createSocket("udp4");
  cleanUp(t, () => socket.close());
  const seconds = Math.floor(Date.now() / 1000) - 3 * 3600;
  socket.send(netflow5([{}], { seconds }), port, "127.0.0.1");
  await until("an exporter", async () => (await collector.metrics.value("netgloss_flow_exporters")) === 1);

  const found = await run("127.0.0.1");
  assert.equal(found.code, 1);
  assert.match(
    found.out,
    /^WARNING clock-off 127\.0\.0\.1\n {2}The clock of 127\.0\.0\.1 is 3 h behind the collector's: /,
  );
  assert.match(found.out, /^ {2}Evidence: offsetSeconds=-108\d\d .*\n {2}What to do: Set the device's time zone/m);
  assert.match(found.out, /^0 problems, 1 warning, 0 notes \(1 exporter, flow port \d+\)\.$/m);
  const json = await run("-o", "json");
  assert.equal(json.code, 1);
  const answer = JSON.parse(json.out) as { healthy: boolean; diagnoses: { id: string; exporter: string }[] };
  assert.equal(answer.healthy, false);
  assert.deepEqual(
    answer.diagnoses.map(({ id, exporter }) => [id, exporter]),
    [["clock-off", "127.0.0.1"]],
  );

  const never = await run("::ffff:192.0.2.1", "-o", "json");
  assert.equal(never.code, 1);
  assert.match(never.out, /"No datagram has come from 192\.0\.2\.1 in /);
  const nonsense = await run("edge-1");
  assert.deepEqual(
    [nonsense.code, nonsense.err.split("\n")[0]],
    [2, 'error: "edge-1" is no IP address: give the one that the exporter sends from'],
  );
  assert.equal((await run("-o", "xml")).code, 2);
});

test("doctor: a collector that cannot be reached", async () => {
  const terminal = createFakeTerminal(["doctor", "--url", "http://127.0.0.1:1"]);
  assert.equal(await runProgram(terminal), 6);
  assert.match(terminal.written.err, /^error: no answer from/);
});

const udpHeader =
  "sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode ref pointer drops";
const udpLine = (address: string, inode: number, drops: number): string =>
  `1: ${address} 00000000:0000 07 00000000:00000010 00:00000000 00000000 998 0 ${inode} 2 0000000000000000 ${drops}`;

function filesOf(texts: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}): HostFiles {
  const paths = [...Object.keys(texts), ...Object.keys(links)];
  return {
    read: (path) => texts[path],
    list: (path) => [
      ...new Set(
        paths.flatMap((one) => (one.startsWith(`${path}/`) ? [one.slice(path.length + 1).split("/")[0] ?? ""] : [])),
      ),
    ],
    link: (path) => links[path],
  };
}

test("sockets: our own by their inodes, others with the process that has them", () => {
  const udp = [
    udpHeader,
    udpLine("00000000:0807", 11, 5),
    udpLine("0100000A:0807", 12, 0),
    udpLine("00000000:270B", 13, 0),
  ];
  const files = filesOf(
    { "/proc/net/udp": `${udp.join("\n")}\n`, "/proc/77/comm": "nfcapd\n" },
    { "/proc/self/fd/20": "socket:[11]", "/proc/77/fd/3": "socket:[12]", "/proc/77/fd/4": "/dev/null" },
  );
  assert.deepEqual(readSockets([2055], files), {
    ports: [{ port: 2055, drops: 5, queued: 16 }],
    others: [
      { port: 2055, uid: 998, isSpecific: true, owner: "77 (nfcapd)" },
      { port: 9995, uid: 998, isSpecific: false, owner: undefined },
    ],
  });
});

test("counters of the host count since the start, and so does the reverse path filter", async () => {
  let counted = 5;
  const texts = (): Record<string, string> => ({
    "/proc/net/snmp": `Udp: InDatagrams NoPorts InErrors RcvbufErrors InCsumErrors\nUdp: 9 ${counted} 0 0 0\n`,
    "/proc/net/netstat": `TcpExt: SyncookiesSent IPReversePathFilter\nTcpExt: 0 ${2 * counted}\n`,
    "/proc/sys/net/ipv4/conf/all/rp_filter": "1\n",
    "/proc/sys/net/ipv4/conf/eth0/rp_filter": "2\n",
    "/proc/sys/net/ipv4/conf/eth1/rp_filter": "0\n",
    "/proc/sys/net/ipv4/conf/lo/rp_filter": "1\n",
  });
  const files: HostFiles = {
    read: (path) => filesOf(texts()).read(path),
    list: (path) => filesOf(texts()).list(path),
    link: () => undefined,
  };
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const metrics = createMetrics();
  const doctor = new Doctor(
    {
      enabled: true,
      ports: () => [2055],
      streamPorts: () => [],
      exporters: async () => [],
      traffic: async () => [],
      counters: () => undefined,
      metrics,
      clock,
    },
    files,
  );
  await doctor.start();
  counted = 8;
  now = 61_000;
  const [found] = (await doctor.diagnose())?.diagnoses ?? [];
  assert.equal(found?.id, "nothing-received");
  assert.deepEqual(found.evidence["host"], { noPorts: 3, bufferErrors: 0, checksumErrors: 0, reversePathFilter: 6 });
  assert.deepEqual(found.evidence["strictInterfaces"], ["eth1"]);
  assert.match(found.sentence, /dropped 6 packets because the way back/);
});
