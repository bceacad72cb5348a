import { createSocket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { netflow5 } from "../../../packages/testkit/index.ts";

/** Records in a datagram of NetFlow v5. */
export const recordsPerDatagram = 30;
const headerBytes = 24;
const recordBytes = 48;
/** Where a record has its bytes, which are its number here, and its source address. */
const octetsAt = 20;

/** An exporter whose records have a number each, in `flow.bytes`. */
export interface NumberedFlows {
  /** Sends the records with these numbers, a whole number of datagrams, this many a second. */
  send(port: number, from: number, count: number, perSecond: number): Promise<void>;
  close(): void;
}

/** Flows as softflowd exports them: NetFlow v5, thirty to a datagram. */
export async function openNumberedFlows(): Promise<NumberedFlows> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const datagram = netflow5(
    Array.from({ length: recordsPerDatagram }, (_, i) => ({
      source: `10.${i}.0.1`,
      destination: `192.0.2.${i + 1}`,
      ports: [40_000 + i, 443] as const,
    })),
  );
  let sequence = 0;
  const fill = (first: number): Buffer => {
    const bytes = Buffer.from(datagram);
    bytes.writeUInt32BE(Math.trunc(Date.now() / 1000), 8);
    bytes.writeUInt32BE(sequence, 16);
    sequence += recordsPerDatagram;
    for (let i = 0; i < recordsPerDatagram; i++) {
      const at = headerBytes + i * recordBytes;
      bytes.writeUInt32BE(first + i, at + octetsAt);
      bytes.writeUInt16BE((first + i) & 0xffff, at + 2);
    }
    return bytes;
  };
  return {
    async send(port, from, count, perSecond) {
      const perTurn = Math.max(1, Math.round(perSecond / recordsPerDatagram / 200));
      for (let sent = 0; sent < count;) {
        for (let i = 0; i < perTurn && sent < count; i++, sent += recordsPerDatagram) {
          socket.send(fill(from + sent), port, "127.0.0.1");
        }
        await sleep(5);
      }
    },
    close: () => socket.close(),
  };
}
