// What `netgloss tee` costs for each datagram, compared with a process that only copies from socket to socket.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import type { TeeCost, TeeOrder } from "./tee-process.ts";

const datagrams = 12_000;
const burst = 10;
const rounds = 3;
const recordsOfDatagram = 24;

const template = {
  id: 256,
  fields: fields([8, 4], [12, 4], [7, 2], [11, 2], [4, 1], [1, 4], [2, 4], [10, 4], [14, 4]),
};
const record = [
  ipv4("192.0.2.1"),
  ipv4("198.51.100.2"),
  uint(443, 2),
  uint(40_000, 2),
  uint(6, 1),
  uint(1500, 4),
  uint(1, 4),
  uint(1, 4),
  uint(2, 4),
];
const records = Array.from({ length: recordsOfDatagram }, () => record).flat();
const kinds: readonly (readonly [name: string, first: Buffer, then: Buffer])[] = [
  ["IPFIX of 24 records", ipfix([ipfixTemplates(template)]), ipfix([dataSet(template, records)])],
  ["NetFlow v9 of 24 records", netflow9([netflow9Templates(template)]), netflow9([dataSet(template, records)])],
  [
    "NetFlow v5 of 24 records",
    netflow5([]),
    netflow5(Array.from({ length: recordsOfDatagram }, () => ({ bytes: 1500 }))),
  ],
  ["sFlow of one sample", sflow([]), sflow([flowSample([])])],
];

const target = createSocket({ type: "udp4", recvBufferSize: 2 ** 23 });
target.bind(0, "127.0.0.1");
await once(target, "listening");
const from = createSocket({ type: "udp4", lookup: (host, _options, done) => done(null, host, 4) });

/** @returns microseconds of processor time for a datagram. */
async function costOf(kind: TeeOrder["kind"], first: Buffer, then: Buffer): Promise<number> {
  const helper = startHelper("flow/tee-process.js");
  const port = await helper.ask<number>({
    kind,
    targetPort: target.address().port,
  } satisfies TeeOrder);
  const send = (bytes: Buffer): Promise<void> =>
    new Promise((done) => from.send(bytes, port, "127.0.0.1", () => done()));
  await send(first);
  for (let sent = 0; sent < datagrams; sent += burst) {
    await Promise.all(Array.from({ length: burst }, () => send(then)));
    await new Promise((next) => setTimeout(next, 1));
  }
  await new Promise((next) => setTimeout(next, 200));
  const { received, cpuMs } = await helper.ask<TeeCost>("end");
  if (received < datagrams / 2) throw new Error(`${received} of ${datagrams} datagrams were received`);
  return (cpuMs * 1000) / received;
}

for (const [name, first, then] of kinds) {
  const tees: number[] = [];
  const copies: number[] = [];
  for (let round = 0; round < rounds; round++) {
    copies.push(await costOf("copy", first, then));
    tees.push(await costOf("tee", first, then));
  }
  reportRow({
    what: `a datagram passed on: ${name}`,
    value: median(tees),
    unit: "µs CPU",
    peer: { what: "a copy from socket to socket", value: median(copies) },
  });
  reportRow({
    what: `datagrams a second of one core: ${name}`,
    value: 1e6 / median(tees),
    unit: "1/s",
  });
}
target.close();
from.close();
