import type { RingHandle, StreamOptions, CustomElement } from "../../flow/index.ts";
import type { LogLevel, Labels, Metrics } from "../../base/report/index.ts";
import { senderAddress, type RingWriter } from "../../flow/intake/index.ts";
import { hashText } from "../../base/text/index.ts";
import { createLineMemory, type LineMemory } from "../../output/index.ts";
import { createWorkspaceMemory, kernelReserve, spaceFor, type WorkspaceMemory } from "../../record/index.ts";
import { enrichmentBytes } from "../enrichment/enrichment.ts";
import type { SharedIndexHandle } from "../../metadata/index.ts";
import type { ExploreFeed } from "./explore-feed.ts";
import { outputsOf, type PlainSettings } from "../settings/index.ts";

/** The data of the receiving thread. */
export interface ReceiveThreadData {
  readonly ip: string;
  readonly ports: readonly number[];
  readonly receiveBufferBytes: number;
  /** Connections of exporters; absent: none. */
  readonly streams: StreamOptions | undefined;
  /** By the number of the decoding thread. */
  readonly rings: readonly RingHandle[];
  readonly logLevel: LogLevel;
}

/** The receiving thread's answer to its start. */
export interface OpenPorts {
  readonly ports: readonly number[];
  readonly streamPorts: readonly number[];
}

/** The receiving thread says that a decoding thread, which sleeps, has something in its ring. */
export interface WakeNote {
  readonly wake: number;
}

type Series = readonly [Labels, number];

/** Chooses the ring for each datagram: by the sender's address alone, so that all it says is read by one thread. */
interface RingSwitch {
  /** Puts the datagram into its ring, or drops and counts it when that is full or its sender has its share of it. */
  put(bytes: Uint8Array, address: string, port: number, receivedAt: number): void;
  /** Puts a message of a connection into its ring. @returns false when it has to wait, because there is no room. */
  offer(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean;
}

/** Why a datagram is dropped: there is no room at all, or its sender had its share. */
const refusals = ["full", "share", "standing"] as const;
type Refusal = (typeof refusals)[number];

/** The most exporters whose drops are counted by address: those first dropped, of whom half at most may be invented. */
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
  // All bits count: with the low bits alone, addresses in a row would all be even or odd together.
  return ((value ^ (value >>> 15)) >>> 0) % count;
}

/** The data of a decoding thread. */
export interface DecodeThreadData {
  readonly settings: PlainSettings;
  readonly elements: readonly CustomElement[];
  /** The number of threads that decode. */
  readonly count: number;
  /** For its look into the metadata; absent: there is none. */
  readonly metadata: SharedIndexHandle | undefined;
  readonly ring: RingHandle;
  /** In which it works; the slabs of its lines come first in it. */
  readonly memory: WorkspaceMemory;
  /** For its lines. */
  readonly lines: LineMemory;
  /** The number of this thread. */
  readonly number: number;
  /** The feed of records for Explore; absent: there is none. */
  readonly explore: ExploreFeed | undefined;
}

/** Lines cross to the main thread in slabs of this size. */
export const slabBytes = 2 * 1024 * 1024;
/** Slabs that a thread has in addition to those that lie in the queues of outputs: what the main thread can be behind. */
const freeSlabs = 24;

/**
 * Returns the most slabs that a thread may have: more than the fullest queue can hold, because an output that is stuck must lose its
 * own records and not keep the threads from writing those of the others. One that was never used takes no memory.
 */
function slabCount(settings: PlainSettings): number {
  const queues = outputsOf(settings).map(({ values }) => (values.ENABLE ? values.QUEUE_SIZE : 0));
  // A queue may hold the lesser part of many slabs.
  return freeSlabs + Math.ceil((2 * Math.max(...queues)) / slabBytes);
}

/** The most that a workspace can have. */
const maxWorkspace = 4 * 1024 ** 3;

/** Makes the memory of a decoding thread: for what it works with, for its lines and for those that are lost. */
export function decodeMemory(settings: PlainSettings): Pick<DecodeThreadData, "memory" | "lines"> {
  const other = enrichmentBytes(settings) + spaceFor(slabBytes);
  const slabs = Math.min(slabCount(settings), Math.floor((maxWorkspace - kernelReserve - other) / slabBytes));
  const memory = createWorkspaceMemory(slabs * slabBytes + other);
  return { memory, lines: createLineMemory(slabs, slabBytes, { lines: memory.buffer, at: kernelReserve }) };
}

/** A decoding thread says that there are lines for the main thread, which does not look for them. */
export interface LinesNote {
  readonly lines: true;
}

/** Datagrams that may wait for a decoding thread, in bytes: half a second of a million records. */
export const ringBytes = 32 * 1024 * 1024;
