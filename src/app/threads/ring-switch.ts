import { senderAddress, type RingWriter } from "../../flow/intake/index.ts";
import { hashText } from "../../base/text/index.ts";
import type { Labels, Metrics } from "../../base/report/index.ts";

type Series = readonly [Labels, number];

/** Chooses the ring for each datagram: by the sender's address alone, so that all it says is read by one thread. */
export interface RingSwitch {
  /** Puts the datagram into its ring, or drops and counts it when that is full or its sender has its share of it. */
  put(bytes: Uint8Array, address: string, port: number, receivedAt: number): void;
  /** Puts a message of a connection into its ring. @returns false when it has to wait, because there is no room. */
  offer(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean;
}

/** Why a datagram is dropped: there is no room at all, or its sender had its share. */
const refusals = ["full", "share", "standing"] as const;
export type Refusal = (typeof refusals)[number];

/** How many exporters have their drops counted by address: those first dropped, of whom half at most may be invented. */
const maxListed = 1000;
const maxUnknown = maxListed / 2;

/** @param dropped is called for each drop, with the number of the thread. */
export function createRingSwitch(
  rings: readonly RingWriter[],
  metrics: Metrics,
  dropped: (thread: number, exporter: string, reason: Refusal) => void,
): RingSwitch {
  const drops = rings.map(() => ({ full: 0, share: 0, standing: 0 }));
  const byExporter = new Map<string, number>();
  let unlisted = 0;
  metrics.counterFrom(
    "netgloss_flow_queue_drops_total",
    "Datagrams dropped because the queue of their decoding thread was full (full), or nearly so and their exporter had its share of it " +
      "(share), or all exporters that stand no better had theirs: unknown, decoded well, proven by a minute of that (standing).",
    ["thread", "reason"],
    () => drops.flatMap((of, thread) => refusals.map((reason): Series => [{ thread, reason }, of[reason]])),
  );
  metrics.counterFrom(
    "netgloss_flow_exporter_queue_drops_total",
    `Datagrams of an exporter dropped at the queue of its decoding thread; of more than ${maxListed} exporters those dropped later are \`other\`.`,
    ["exporter"],
    () => [
      ...Array.from(byExporter, ([exporter, count]): Series => [{ exporter }, count]),
      [{ exporter: "other" }, unlisted],
    ],
  );
  metrics.gaugeFrom("netgloss_flow_queue_bytes", "Datagrams that wait for their decoding thread.", ["thread"], () =>
    rings.map((ring, thread): Series => [{ thread }, ring.used()]),
  );

  const drop = (thread: number, exporter: string, reason: Refusal, isGood: boolean): void => {
    const of = drops[thread];
    if (of !== undefined) of[reason]++;
    const count = byExporter.get(exporter);
    if (count !== undefined || byExporter.size < (isGood ? maxListed : maxUnknown))
      byExporter.set(exporter, (count ?? 0) + 1);
    else unlisted++;
    dropped(thread, exporter, reason);
  };
  return {
    offer(bytes, address, port, receivedAt) {
      const ring = rings[threadFor(senderAddress(address), rings.length)];
      return ring?.hasRoomForStreams(address) === true && ring.write(bytes, address, port, receivedAt);
    },
    put(bytes, address, port, receivedAt) {
      const exporter = senderAddress(address);
      const thread = threadFor(exporter, rings.length);
      const ring = rings[thread];
      const refused = ring?.refuses(address);
      if (refused === undefined && ring?.write(bytes, address, port, receivedAt) === true) return;
      drop(thread, exporter, refused ?? "full", ring?.isGood(address) === true);
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
