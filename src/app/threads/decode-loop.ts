import { type LineOutbox } from "../../output/index.ts";
import { type RingReader } from "../../flow/index.ts";
import type { WatchAddresses } from "../../enrich/index.ts";
import { type AddressIndex, type SharedIndexReader } from "../../metadata/index.ts";

interface DecodeLoopOptions {
  readonly reader: RingReader;
  readonly outbox: Pick<LineOutbox, "hasRoom" | "flush">;
  /** Decodes a datagram. */
  readonly take: (bytes: Buffer, address: string, port: number, receivedAt: number) => void;
  /** The lines of the datagrams taken are with the outbox when the call returns. */
  readonly handOver: () => void;
  /** Milliseconds, for how long the loop keeps the thread to itself. */
  readonly monotonic: () => number;
}

export interface DecodeLoop {
  start(): void;
  /** The ring has something again. */
  wake(): void;
  /** Takes what is in the ring and ends. */
  drain(): Promise<void>;
}

/** Datagrams taken before the loop looks whether there is room for more lines. */
const batch = 16;
/** The same in bytes: messages of TCP are long, and the lines of a few of them fill the room that there is. */
const batchBytes = 24 * 1024;
/** How long the event loop of the thread waits at most, for calls and timers. */
const turnMs = 8;
/** How long the ring is looked at each millisecond after it was found empty, before the thread sleeps until it is woken. */
const looks = 20;
/** Lines leave after this many looks at the latest: each time wakes the main thread. */
const looksBeforeFlush = 8;
/** How long a drain waits for the outputs, as often as it finds no room. */
const drainMs = 2;

/**
 * Takes datagrams from the ring for as long as there are some. A ring found empty is looked at again after a millisecond:
 * under load that gathers datagrams, and nobody needs to wake the thread; without load it sleeps.
 */
export function createDecodeLoop({ reader, outbox, take, handOver, monotonic }: DecodeLoopOptions): DecodeLoop {
  let isAsleep = false;
  let isEnded = false;
  /** Looks since there was something in the ring, and since lines left. */
  let empty = 0;
  let unflushed = 0;

  const flush = (): void => {
    unflushed = 0;
    outbox.flush();
  };
  const later = (): void => void setTimeout(run, 1);

  /** @returns whether the ring is empty; else the turn is over, or there is no room for lines. */
  const takeSome = (): boolean => {
    const until = monotonic() + turnMs;
    while (outbox.hasRoom()) {
      const count = reader.read(take, batch, batchBytes);
      if (count === 0) return true;
      handOver();
      empty = 0;
      if (monotonic() >= until) return false;
    }
    return false;
  };

  const run = (): void => {
    if (isEnded) return;
    const isEmpty = takeSome();
    if (!isEmpty) {
      if (outbox.hasRoom()) setImmediate(run);
      else {
        flush();
        later();
      }
      return;
    }
    if (++unflushed >= looksBeforeFlush) flush();
    if (++empty < looks) later();
    else if (reader.sleep()) isAsleep = true;
    else setImmediate(run);
  };

  return {
    start: () => void setImmediate(run),
    wake() {
      if (!isAsleep) return;
      isAsleep = false;
      empty = 0;
      run();
    },
    async drain() {
      isEnded = true;
      while (!takeSome()) {
        outbox.flush();
        await new Promise((resolve) => setTimeout(resolve, drainMs));
      }
      outbox.flush();
    },
  };
}

/** The metadata as a thread sees it that has a reader only. */
interface ThreadMetadata {
  /** As that of a store: calls the listener with what is now, and from `look` with each change. */
  watch: WatchAddresses;
  /** Looks whether the metadata has changed; to be called before each datagram. What was answered to a writer before is seen. */
  look(): void;
}

export function createThreadMetadata(reader: SharedIndexReader): ThreadMetadata {
  const listeners = new Set<Parameters<WatchAddresses>[0]>();
  let { version } = reader.changes();
  // Another object for each version: that is how a listener knows them apart.
  const makeIndex = (): AddressIndex => ({
    covering: (address) => reader.covering(address),
    texts: (addresses, count, use) => reader.texts(addresses, count, use),
  });
  let index = makeIndex();
  return {
    watch(listener) {
      listeners.add(listener);
      listener(index);
      return () => void listeners.delete(listener);
    },
    look() {
      if (reader.version() === version) return;
      const changes = reader.changes();
      version = changes.version;
      index = makeIndex();
      for (const listener of listeners) listener(index, changes.changed);
    },
  };
}
