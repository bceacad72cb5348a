import { type LineOutbox, createLineMemory, type LineMemory } from "../../output/index.ts";
import type { RingReader, RingHandle, StreamOptions, CustomElement } from "../../flow/index.ts";
import type { WatchAddresses } from "../../enrich/index.ts";
import type { AddressIndex, SharedIndexReader, SharedIndexHandle } from "../../metadata/index.ts";
import type { LogLevel, Labels, Metrics } from "../../base/report/index.ts";
import { senderAddress, type RingWriter } from "../../flow/intake/index.ts";
import { hashText } from "../../base/text/index.ts";
import { createWorkspaceMemory, kernelReserve, spaceFor, type WorkspaceMemory } from "../../record/index.ts";
import { enrichmentBytes } from "../enrichment/enrichment.ts";
import type { RecordFeed } from "./record-feed.ts";
import { outputsOf, type PlainSettings } from "../settings/index.ts";

/** A decoder of the loop's datagrams. */
interface DatagramDecoder {
  take(this: void, bytes: Buffer, address: string, port: number, receivedAt: number): void;
  /** Passes the lines of all taken datagrams to the outbox before it returns. */
  handOver(this: void): void;
}

/** The number of datagrams between two checks for room for lines. */
const batch = 16;
/** The same in bytes: messages over TCP are long, and the lines of a few of them fill the room. */
const batchBytes = 24 * 1024;
/** The longest time that the event loop of the thread waits, for calls and timers, milliseconds. */
const turnMs = 8;
/** The number of polls of an empty ring, one each millisecond, before the thread sleeps until it is woken. */
const looks = 20;
/** The most polls before lines are passed on; each time wakes the main thread. */
const looksBeforeFlush = 8;
/** The wait of a drain for the outputs, each time it finds no room, milliseconds. */
const drainMs = 2;

/**
 * Takes datagrams from the ring as long as there are some. It polls an empty ring again after a millisecond.
 * Under load that gathers datagrams, and nobody needs to wake the thread; without load it sleeps.
 */
export class DecodeLoop {
  readonly #reader: RingReader;
  readonly #outbox: Pick<LineOutbox, "hasRoom" | "flush">;
  readonly #decoder: DatagramDecoder;
  readonly #monotonic: () => number;
  #isAsleep = false;
  #isEnded = false;
  /** Polls since the ring had something, and since lines were passed on. */
  #empty = 0;
  #unflushed = 0;

  /** @param monotonic returns milliseconds, to limit how long the loop keeps the thread busy. */
  constructor(
    reader: RingReader,
    outbox: Pick<LineOutbox, "hasRoom" | "flush">,
    decoder: DatagramDecoder,
    monotonic: () => number,
  ) {
    this.#reader = reader;
    this.#outbox = outbox;
    this.#decoder = decoder;
    this.#monotonic = monotonic;
  }

  start(): void {
    setImmediate(this.#run);
  }

  /** Wakes the loop, because the ring has something. */
  wake(): void {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    this.#empty = 0;
    this.#run();
  }

  /** Takes the rest of the ring and ends. */
  async drain(): Promise<void> {
    this.#isEnded = true;
    while (!this.#takeSome()) {
      this.#outbox.flush();
      await new Promise((resolve) => setTimeout(resolve, drainMs));
    }
    this.#outbox.flush();
  }

  readonly #run = (): void => {
    if (this.#isEnded) return;
    if (!this.#takeSome()) {
      if (this.#outbox.hasRoom()) setImmediate(this.#run);
      else {
        this.#flush();
        setTimeout(this.#run, 1);
      }
      return;
    }
    if (++this.#unflushed >= looksBeforeFlush) this.#flush();
    if (++this.#empty < looks) setTimeout(this.#run, 1);
    else if (this.#reader.sleep()) this.#isAsleep = true;
    else setImmediate(this.#run);
  };

  /** @returns true if the ring is empty; false if the cycle is over, or there is no room for lines. */
  #takeSome(): boolean {
    const { take, handOver } = this.#decoder;
    const until = this.#monotonic() + turnMs;
    while (this.#outbox.hasRoom()) {
      const count = this.#reader.read(take, batch, batchBytes);
      if (count === 0) return true;
      handOver();
      this.#empty = 0;
      if (this.#monotonic() >= until) return false;
    }
    return false;
  }

  #flush(): void {
    this.#unflushed = 0;
    this.#outbox.flush();
  }
}

/** The metadata in a thread that has only a reader. */
export class ThreadMetadata {
  readonly #reader: SharedIndexReader;
  readonly #listeners = new Set<Parameters<WatchAddresses>[0]>();
  #version: number;
  #index: AddressIndex;

  constructor(reader: SharedIndexReader) {
    this.#reader = reader;
    this.#version = reader.changes().version;
    this.#index = this.#makeIndex();
  }

  /** Calls the listener with the current state, and from `look` with each change, like a store. */
  watch(listener: Parameters<WatchAddresses>[0]): () => void {
    this.#listeners.add(listener);
    listener(this.#index);
    return () => void this.#listeners.delete(listener);
  }

  /** Checks whether the metadata has changed; to be called before each datagram. Changes acknowledged to a writer before are visible. */
  look(): void {
    if (this.#reader.version() === this.#version) return;
    const { version, changed } = this.#reader.changes();
    this.#version = version;
    this.#index = this.#makeIndex();
    for (const listener of this.#listeners) listener(this.#index, changed);
  }

  /** Returns a new object for each version, because listeners compare objects. */
  #makeIndex(): AddressIndex {
    const reader = this.#reader;
    return {
      covering: (address) => reader.covering(address),
      texts: (addresses, count, use, scopes) => reader.texts(addresses, count, use, scopes),
      hasWithin: (bounds) => reader.hasWithin(bounds),
      scopes: () => reader.scopes(),
    };
  }
}

/** The data of the receiving thread. */
export interface ReceiveThreadData {
  readonly ip: string;
  readonly ports: readonly number[];
  readonly receiveBufferBytes: number;
  /** Connections of exporters; absent: none. */
  readonly streams: StreamOptions | undefined;
  /** The rings, indexed by the number of the decoding thread. */
  readonly rings: readonly RingHandle[];
  readonly logLevel: LogLevel;
}

/** The receiving thread's answer to its start. */
export interface OpenPorts {
  readonly ports: readonly number[];
  readonly streamPorts: readonly number[];
}

/** A note of the receiving thread that the ring of a sleeping decoding thread has something. */
export interface WakeNote {
  readonly wake: number;
}

type Series = readonly [Labels, number];

/** Reasons for dropping a datagram: the ring is full, its sender has used its share, or all senders of no better standing have used theirs. */
const refusals = ["full", "share", "standing"] as const;
type Refusal = (typeof refusals)[number];

/** The most exporters whose drops are counted by address: those dropped first. At most half may be unknown senders, which can be invented. */
const maxListed = 1000;
const maxUnknown = maxListed / 2;

/** Chooses the ring for each datagram by the sender's address alone, so that one thread reads all data of a sender. */
export class RingSwitch {
  readonly #rings: readonly RingWriter[];
  readonly #dropped: (thread: number, exporter: string, reason: Refusal) => void;
  readonly #drops: readonly Record<Refusal, number>[];
  readonly #byExporter = new Map<string, number>();
  #unlisted = 0;

  /** @param dropped is called for each drop, with the number of the thread. */
  constructor(
    rings: readonly RingWriter[],
    metrics: Metrics,
    dropped: (thread: number, exporter: string, reason: Refusal) => void,
  ) {
    this.#rings = rings;
    this.#dropped = dropped;
    this.#drops = rings.map(() => ({ full: 0, share: 0, standing: 0 }));
    metrics.counterFrom(
      "netgloss_flow_queue_drops_total",
      "Datagrams dropped because the queue of their decoding thread was full (full), or nearly so and their exporter had its share of it " +
        "(share), or all exporters that stand no better had theirs: unknown, decoded well, proven by a minute of that (standing).",
      ["thread", "reason"],
      () => this.#drops.flatMap((of, thread) => refusals.map((reason): Series => [{ thread, reason }, of[reason]])),
    );
    metrics.counterFrom(
      "netgloss_flow_exporter_queue_drops_total",
      `Datagrams of an exporter dropped at the queue of its decoding thread; of more than ${maxListed} exporters those dropped later are \`other\`.`,
      ["exporter"],
      () => [
        ...Array.from(this.#byExporter, ([exporter, count]): Series => [{ exporter }, count]),
        [{ exporter: "other" }, this.#unlisted],
      ],
    );
    metrics.gaugeFrom("netgloss_flow_queue_bytes", "Datagrams that wait for their decoding thread.", ["thread"], () =>
      rings.map((ring, thread): Series => [{ thread }, ring.used()]),
    );
  }

  /** Puts a message of a connection into its ring. @returns false when it has to wait, because there is no room. */
  offer(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean {
    const ring = this.#rings[threadFor(senderAddress(address), this.#rings.length)];
    return ring?.hasRoomForStreams(address) === true && ring.write(bytes, address, port, receivedAt);
  }

  /** Puts the datagram into its ring, or drops and counts it when the ring is full or its sender has used its share. */
  put(bytes: Uint8Array, address: string, port: number, receivedAt: number): void {
    const exporter = senderAddress(address);
    const thread = threadFor(exporter, this.#rings.length);
    const ring = this.#rings[thread];
    const refused = ring?.refuses(address);
    if (refused === undefined && ring?.write(bytes, address, port, receivedAt) === true) return;
    this.#drop(thread, exporter, refused ?? "full", ring?.isGood(address) === true);
  }

  #drop(thread: number, exporter: string, reason: Refusal, isGood: boolean): void {
    const of = this.#drops[thread];
    if (of !== undefined) of[reason]++;
    const count = this.#byExporter.get(exporter);
    if (count !== undefined || this.#byExporter.size < (isGood ? maxListed : maxUnknown))
      this.#byExporter.set(exporter, (count ?? 0) + 1);
    else this.#unlisted++;
    this.#dropped(thread, exporter, reason);
  }
}

/** @returns the number, below `count`, of the thread that decodes an exporter, by its address in canonical text. */
export function threadFor(address: string, count: number): number {
  if (count === 1) return 0;
  const value = hashText(address);
  // Use all bits: with the low bits alone, consecutive addresses would all be even or odd together.
  return ((value ^ (value >>> 15)) >>> 0) % count;
}

/** The data of a decoding thread. */
export interface DecodeThreadData {
  readonly settings: PlainSettings;
  readonly elements: readonly CustomElement[];
  /** The number of threads that decode. */
  readonly count: number;
  /** Its reader of the metadata; absent: there is none. */
  readonly metadata: SharedIndexHandle | undefined;
  /** The same for names. */
  readonly names: SharedIndexHandle | undefined;
  readonly ring: RingHandle;
  /** The memory in which it works; the slabs of its lines come first. */
  readonly memory: WorkspaceMemory;
  /** The memory of its lines. */
  readonly lines: LineMemory;
  /** The number of this thread. */
  readonly number: number;
  /** The feeds of threads that take records. */
  readonly feeds: readonly RecordFeed[];
}

/** The size of the slabs in which lines are passed to the main thread. */
export const slabBytes = 2 * 1024 * 1024;
/** The slabs of a thread in addition to those in the queues of outputs: the main thread may be behind by these. */
const freeSlabs = 24;

/**
 * Returns the most slabs of a thread: more than the fullest queue can hold, because an output that is stuck must lose only
 * its own records and not those of the others. A slab that was never used takes no memory.
 */
function slabCount(settings: PlainSettings): number {
  const queues = outputsOf(settings).map(({ values }) => (values.ENABLE ? values.QUEUE_SIZE : 0));
  // A queue may hold the lesser part of many slabs.
  return freeSlabs + Math.ceil((2 * Math.max(...queues)) / slabBytes);
}

/** The most bytes of a workspace. */
const maxWorkspace = 4 * 1024 ** 3;

/** Creates the memory of a decoding thread: for its work, for its lines and for those that are lost. */
export function decodeMemory(settings: PlainSettings): Pick<DecodeThreadData, "memory" | "lines"> {
  const other = enrichmentBytes(settings) + spaceFor(slabBytes);
  const slabs = Math.min(slabCount(settings), Math.floor((maxWorkspace - kernelReserve - other) / slabBytes));
  const memory = createWorkspaceMemory(slabs * slabBytes + other);
  return { memory, lines: createLineMemory(slabs, slabBytes, { lines: memory.buffer, at: kernelReserve }) };
}

/** A note of a decoding thread that there are lines for the main thread, which does not poll for them. */
export interface LinesNote {
  readonly lines: true;
}

/** The bytes of datagrams that may wait for a decoding thread: half a second at a million records a second. */
export const ringBytes = 32 * 1024 * 1024;
