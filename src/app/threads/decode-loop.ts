import { type LineOutbox } from "../../output/index.ts";
import { type RingReader } from "../../flow/index.ts";
import type { WatchAddresses } from "../../enrich/index.ts";
import { type AddressIndex, type SharedIndexReader } from "../../metadata/index.ts";

/** A decoder of the datagrams of the loop. */
interface DatagramDecoder {
  take(this: void, bytes: Buffer, address: string, port: number, receivedAt: number): void;
  /** The lines of the datagrams taken are with the outbox when the call returns. */
  handOver(this: void): void;
}

/** Datagrams taken before the loop looks whether there is room for more lines. */
const batch = 16;
/** The same in bytes: messages of TCP are long, and the lines of a few of them fill the room that there is. */
const batchBytes = 24 * 1024;
/** The longest time that the event loop of the thread waits, for calls and timers, milliseconds. */
const turnMs = 8;
/** Looks at the ring after it was found empty, one each millisecond, before the thread sleeps until it is woken. */
const looks = 20;
/** Lines leave after this many looks at the latest: each time wakes the main thread. */
const looksBeforeFlush = 8;
/** The wait of a drain for the outputs, as often as it finds no room, milliseconds. */
const drainMs = 2;

/**
 * Takes datagrams from the ring for as long as there are some. A ring found empty is looked at again after a millisecond:
 * under load that gathers datagrams, and nobody needs to wake the thread; without load it sleeps.
 */
export class DecodeLoop {
  readonly #reader: RingReader;
  readonly #outbox: Pick<LineOutbox, "hasRoom" | "flush">;
  readonly #decoder: DatagramDecoder;
  readonly #monotonic: () => number;
  #isAsleep = false;
  #isEnded = false;
  /** Looks since there was something in the ring, and since lines left. */
  #empty = 0;
  #unflushed = 0;

  /** @param monotonic milliseconds, for how long the loop keeps the thread to itself. */
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

  /** The ring has something again. */
  wake(): void {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    this.#empty = 0;
    this.#run();
  }

  /** Takes what is in the ring and ends. */
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

  /** @returns whether the ring is empty; else the cycle is over, or there is no room for lines. */
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

/** The metadata as a thread sees it that has a reader only. */
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

  /** As that of a store: calls the listener with what is now, and from `look` with each change. */
  watch(listener: Parameters<WatchAddresses>[0]): () => void {
    this.#listeners.add(listener);
    listener(this.#index);
    return () => void this.#listeners.delete(listener);
  }

  /** Looks whether the metadata has changed; to be called before each datagram. What was answered to a writer before is seen. */
  look(): void {
    if (this.#reader.version() === this.#version) return;
    const { version, changed } = this.#reader.changes();
    this.#version = version;
    this.#index = this.#makeIndex();
    for (const listener of this.#listeners) listener(this.#index, changed);
  }

  /** Another object for each version: that is how a listener knows them apart. */
  #makeIndex(): AddressIndex {
    const reader = this.#reader;
    return {
      covering: (address) => reader.covering(address),
      texts: (addresses, count, use) => reader.texts(addresses, count, use),
    };
  }
}
