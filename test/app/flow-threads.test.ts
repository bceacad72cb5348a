import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { createCollector, readSettings, type Collector } from "../../src/app/index.ts";
import { createLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  netflow9Templates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { allEnds } from "../support/all-ends.ts";
import { createFlowRig, parseLines, type Json } from "../support/flow-rig.ts";
import { until } from "../support/until.ts";

const template: PacketTemplate = { id: 260, fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4]) };
const flowOf = (number: number): Buffer[] => [
  ipv4("10.0.0.1"),
  ipv4("10.0.0.2"),
  uint(1000 + number, 2),
  uint(443, 2),
  uint(6, 1),
  uint(number, 4),
];

interface Running {
  readonly collector: Collector;
  readonly records: Json[];
  readonly log: () => string;
  readonly sendFrom: (address: string, ...datagrams: Buffer[]) => Promise<void>;
}

async function start(t: TestContext, threads: number, settings: Record<string, string> = {}): Promise<Running> {
  const given = {
    SVC_API_PORT: "0",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_POOL_SIZE: String(threads),
    ...settings,
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const records: Json[] = [];
  const written: string[] = [];
  const collector = createCollector({
    settings: readSettings([layer], () => "").settings,
    log: createLog({ level: "info", format: "text", destination: { write: (line) => written.push(line) } }),
    clock: systemClock,
    version: "0.0.0",
    sinks: [{ write: (lines) => void records.push(...parseLines(lines)) }],
  });
  await collector.start();
  const sockets = new Map<string, Socket>();
  cleanUp(t, async () => {
    for (const socket of sockets.values()) socket.close();
    await collector.stop();
  });
  return {
    collector,
    records,
    log: () => written.join(""),
    async sendFrom(address, ...datagrams) {
      let socket = sockets.get(address);
      if (socket === undefined) {
        socket = createSocket("udp4");
        sockets.set(address, socket);
        socket.bind({ address });
        await once(socket, "listening");
      }
      for (const datagram of datagrams) {
        await new Promise((sent) => socket.send(datagram, collector.flowPorts()[0], "127.0.0.1", sent));
      }
    },
  };
}

const withoutTimes = ({ "@timestamp": _received, ...rest }: Json): Json => rest;

for (const threads of [1, 3]) {
  test(`with ${threads} decoding threads every exporter's records come, in its order, as they are decoded elsewhere`, async (t) => {
    const { collector, records, sendFrom } = await start(t, threads);
    const addresses = Array.from({ length: 12 }, (_, i) => `127.0.1.${i + 1}`);
    const rig = createFlowRig({ communityId: true, ends: allEnds });
    const expected = new Map<string, Json[]>();
    for (let round = 0; round < 5; round++) {
      for (const address of addresses) {
        const datagrams = [
          ...(round === 0 ? [netflow9([netflow9Templates(template)], { sequence: 0 })] : []),
          netflow9([dataSet(template, flowOf(2 * round), flowOf(2 * round + 1))], { sequence: round + 1 }),
          ipfix([ipfixTemplates({ ...template, id: 300 }), dataSet({ ...template, id: 300 }, flowOf(round))], {
            sequence: 2 * round,
          }),
          netflow5([{}], { sequence: round }),
        ];
        await sendFrom(address, ...datagrams);
        const list = expected.get(address) ?? [];
        expected.set(address, list);
        for (const datagram of datagrams) list.push(...rig.send(datagram, { address }).map(withoutTimes));
      }
    }
    const total = [...expected.values()].flat().length;
    await until("all records", () => records.length >= total);
    for (const address of addresses) {
      const got = records.filter((record) => record["flow.export.ip.addr"] === address).map(withoutTimes);
      assert.deepEqual(got, expected.get(address));
    }
    assert.equal(await collector.metrics.value("netgloss_flow_records_total", { protocol: "netflow9" }), 5 * 2 * 12);
    assert.equal(await collector.metrics.value("netgloss_flow_exporters"), 12);
    assert.equal(
      await collector.metrics.value("netgloss_flow_kernel_drops_total", { port: collector.flowPorts()[0] ?? 0 }),
      0,
    );
    const response = await fetch(`http://127.0.0.1:${collector.apiPort()}/api/v1/flow/exporters`);
    const { exporters } = (await response.json()) as { exporters: { address: string; records: number }[] };
    assert.deepEqual(exporters.map(({ address }) => address).toSorted(), addresses.toSorted());
    assert.ok(exporters.every(({ records: count }) => count === total / 12));
  });
}

test("what was received before a stop is with the outputs after it", async (t) => {
  const { collector, records, sendFrom } = await start(t, 2);
  const many = Array.from({ length: 40 }, (_, i) => flowOf(i));
  await sendFrom("127.0.1.1", netflow9([netflow9Templates(template)], { sequence: 0 }));
  await until("the template", async () => (await collector.metrics.value("netgloss_flow_templates")) === 1);
  for (let i = 0; i < 200; i++)
    await sendFrom("127.0.1.1", netflow9([dataSet(template, ...many)], { sequence: i + 1 }));
  await until("the last datagram", async () => {
    return (await collector.metrics.value("netgloss_flow_datagrams_total", { protocol: "netflow9" })) === 201;
  });
  await collector.stop();
  assert.equal(records.length, 200 * 40);
});

test("a port that is taken fails the start with the reason, and leaves nothing running", async (t) => {
  const { collector } = await start(t, 1);
  const port = String(collector.flowPorts()[0]);
  await assert.rejects(start(t, 1, { SVC_FLOW_SERVER_UDP_PORT: port }), /another program has it.*EADDRINUSE/);
});

test("hostile datagrams do not stop it, and what a thread logs is in the log", async (t) => {
  const { records, sendFrom, log } = await start(t, 1);
  await sendFrom(
    "127.0.1.1",
    Buffer.from("hello"),
    Buffer.alloc(0),
    Buffer.alloc(60_000, 0xff),
    netflow5([{}], { sequence: 0 }).subarray(0, 30),
  );
  await sendFrom("127.0.1.2", netflow5([{}], { sequence: 0 }));
  await until("the record", () => records.length > 0);
  assert.match(log(), /WARN +flow datagram dropped: its first bytes are of no known protocol.*exporter=127\.0\.1\.1/);
});
