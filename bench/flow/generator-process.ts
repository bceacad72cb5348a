// Sends flow datagrams to a port of this host at a given rate and for a given time; its parent tells it by message what to
// send and is told what was sent.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { protocols, type BenchProtocol } from "./packet-layout.ts";
import { packetLayout } from "./packet-layouts.ts";
import { addressPools, createPacketSource, ringSize, type PacketSource } from "./packet-source.ts";

/** What to send. */
export interface GeneratorOrder {
  readonly port: number;
  readonly protocol: BenchProtocol | "mix";
  readonly recordsPerPacket: number;
  readonly recordsPerSecond: number;
  readonly seconds: number;
  readonly exporters: number;
}

/** What was sent. */
export interface GeneratorResult {
  readonly packets: number;
  readonly records: number;
  readonly seconds: number;
}

interface Exporter {
  readonly socket: Socket;
  readonly source: PacketSource;
}

/** No burst is longer than what is due in this time, whatever has held the generator up before. */
const maxBurstMs = 20;

if (process.send !== undefined) {
  process.on("message", (order: GeneratorOrder) => {
    void generate(order).then((result) => process.send?.(result));
  });
}

async function generate(order: GeneratorOrder): Promise<GeneratorResult> {
  const exporters = await Promise.all(Array.from({ length: order.exporters }, (_, i) => open(order, i)));
  for (const { socket, source } of exporters) {
    const templates = source.templates();
    if (templates !== undefined) await new Promise((resolve) => socket.send(templates, resolve));
  }
  // Time for the templates to be read, so that none comes to a full buffer.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const { packets, seconds } = await sendAtRate(exporters, order);
  for (const { socket } of exporters) socket.close();
  return { packets, records: packets * order.recordsPerPacket, seconds };
}

async function open(order: GeneratorOrder, i: number): Promise<Exporter> {
  const protocol = order.protocol === "mix" ? (protocols[i % protocols.length] as BenchProtocol) : order.protocol;
  const layout = packetLayout(protocol, order.recordsPerPacket);
  const socket = createSocket("udp4");
  socket.bind(0, `127.0.1.${i + 1}`);
  await once(socket, "listening");
  socket.connect(order.port, "127.0.0.1");
  await once(socket, "connect");
  return { socket, source: createPacketSource(layout, i + 1, addressPools.traffic) };
}

/** Packets that the kernel has taken are counted, those it refused are not. */
function sendAtRate(
  exporters: readonly Exporter[],
  { recordsPerSecond, recordsPerPacket, seconds }: GeneratorOrder,
): Promise<{ packets: number; seconds: number }> {
  const packetsPerMs = recordsPerSecond / recordsPerPacket / 1000;
  return new Promise((resolve) => {
    let offered = 0;
    let taken = 0;
    let underWay = 0;
    const done = (error: Error | null): void => {
      underWay--;
      if (error === null) taken++;
    };
    const start = performance.now();
    let last = start;
    let due = 0;
    const turn = (): void => {
      const now = performance.now();
      const isOver = now - start >= seconds * 1000;
      due += Math.min(now - last, maxBurstMs) * packetsPerMs;
      last = now;
      const limit = isOver ? offered : due;
      while (offered < limit && underWay < ringSize / 2) {
        const { socket, source } = exporters[offered % exporters.length] as Exporter;
        offered++;
        underWay++;
        socket.send(source.next(), done);
      }
      if (!isOver || underWay > 0) setTimeout(turn, 1);
      else resolve({ packets: taken, seconds: (now - start) / 1000 });
    };
    turn();
  });
}
