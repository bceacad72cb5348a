import { senderAddress, type RingWriter } from "../../flow/intake/index.ts";
import { hashText } from "../../text/index.ts";
import type { Labels, Metrics } from "../../report/index.ts";

/** Chooses the ring for each datagram: by the sender's address alone, so that all it says is read by one thread. */
export interface RingSwitch {
  /** Puts the datagram into its ring, or drops and counts it when that is full. */
  put(bytes: Uint8Array, address: string, port: number, receivedAt: number): void;
  /** Puts a message of a connection into its ring. @returns false when it has to wait, because there is no room. */
  offer(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean;
}

/** @param dropped is called for each drop, with the number of the thread. */
export function createRingSwitch(
  rings: readonly RingWriter[],
  metrics: Metrics,
  dropped: (thread: number) => void,
): RingSwitch {
  const drops = rings.map(() => 0);
  const byThread = (values: readonly number[]): (readonly [Labels, number])[] =>
    values.map((value, thread) => [{ thread }, value] as const);
  metrics.counterFrom(
    "netgloss_flow_queue_drops_total",
    "Datagrams dropped because the queue of their decoding thread was full.",
    ["thread"],
    () => byThread(drops),
  );
  metrics.gaugeFrom("netgloss_flow_queue_bytes", "Datagrams that wait for their decoding thread.", ["thread"], () =>
    byThread(rings.map((ring) => ring.used())),
  );
  return {
    offer(bytes, address, port, receivedAt) {
      const ring = rings[threadFor(senderAddress(address), rings.length)];
      return ring?.hasRoomForStreams() === true && ring.write(bytes, address, port, receivedAt);
    },
    put(bytes, address, port, receivedAt) {
      const thread = threadFor(senderAddress(address), rings.length);
      if (rings[thread]?.write(bytes, address, port, receivedAt) === true) return;
      drops[thread] = (drops[thread] ?? 0) + 1;
      dropped(thread);
    },
  };
}

/** @returns which of this many threads decodes an exporter, by its address in canonical text. */
export function threadFor(address: string, count: number): number {
  if (count === 1) return 0;
  const value = hashText(address);
  // Of the low bits alone, addresses in a row would all be even or odd together.
  return ((value ^ (value >>> 15)) >>> 0) % count;
}
