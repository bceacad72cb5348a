import {
  addressMark,
  control,
  endMark,
  entryHeader,
  entrySize,
  notesFrom,
  RingViews,
  senderBits,
  type RingHandle,
  type SenderReputation,
} from "./ring-writer.ts";

/** Takes a datagram; its bytes are valid during the call only. */
export type TakeDatagram = (bytes: Buffer, address: string, port: number, receivedAt: number) => void;

/** Tells the writer about senders while the ring is filling up. */
export interface AboutSenders {
  readonly reputation: (address: string) => SenderReputation;
  /** Milliseconds. */
  readonly monotonic: () => number;
}

/** The latest datagram makes up this part of the time that a sender's datagrams take. */
const latestPart = 1 / 16;
/** The time of a good sender counts only in part: records come of it. */
const goodPart = 1 / 8;
/** A datagram counts as no more than this many usual ones: what takes so long is as a rule the garbage collector. */
const maxTimes = 8;

/** The longest datagram that UDP can carry, as a ring of 64 KiB could hold it. */
const maxDatagram = 65_536;

/** The one side of a ring that takes datagrams out. */
export class RingReader {
  readonly #ring: RingViews;
  readonly #about: AboutSenders | undefined;
  readonly #addresses: string[] = [];
  // A copy of its own: decoders and libraries behind them need not know of shared memory.
  readonly #scratch: Buffer;
  /** Datagrams taken out and not handed over, because only a reader before this one knew whose they were. */
  lost = 0;

  /** @param about left out: all senders are alike. */
  constructor(ring: RingHandle, about?: AboutSenders) {
    this.#ring = new RingViews(ring);
    this.#about = about;
    // A reader before this one may have received addresses.
    Atomics.store(this.#ring.words, control.forget, 1);
    this.#scratch = Buffer.allocUnsafeSlow(Math.min(this.#ring.capacity, maxDatagram));
  }

  /**
   * Hands over the next datagrams in the order in which they were written, `limit` at most, and none after `maxBytes`.
   *
   * @returns how many were taken out; 0 when the ring is empty.
   */
  read(take: TakeDatagram, limit: number, maxBytes = Number.POSITIVE_INFINITY): number {
    const { words, uints, capacity } = this.#ring;
    let count = 0;
    let taken = 0;
    while (count < limit && taken < maxBytes) {
      const read = Atomics.load(words, control.read);
      const written = Atomics.load(words, control.written);
      if (read === written) break;
      const at = (read >>> 0) & (capacity - 1);
      const length = uints[at >>> 2] as number;
      if (length === endMark) {
        Atomics.store(words, control.read, (read + capacity - at) | 0);
        continue;
      }
      const exporter = uints[(at >>> 2) + 1] as number;
      const port = uints[(at >>> 2) + 2] as number;
      const receivedAt = this.#ring.doubles[(at + 16) >>> 3] as number;
      const bytes = this.#scratch.subarray(0, length);
      bytes.set(this.#ring.bytes.subarray(at + entryHeader, at + entryHeader + length));
      // Before it is handed over: should the taker die of it, the next reader of the ring does not meet it again.
      Atomics.store(words, control.read, (read + entrySize(length)) | 0);
      if (port === addressMark) {
        this.#addresses[exporter] = bytes.toString("latin1");
        continue;
      }
      count++;
      taken += length;
      const address = this.#addresses[exporter];
      if (address === undefined) this.lost++;
      else if (this.#about === undefined || (written - read) >>> 0 < capacity * notesFrom) {
        take(bytes, address, port, receivedAt);
      } else {
        const began = this.#about.monotonic();
        take(bytes, address, port, receivedAt);
        this.#note(exporter, this.#about.monotonic() - began, this.#about.reputation(address));
      }
    }
    return count;
  }

  /**
   * Says that the reader is going to sleep. @returns false when something has come meanwhile: it must read on. Otherwise
   * the writer wakes it at the next write.
   */
  sleep(): boolean {
    Atomics.store(this.#ring.words, control.asleep, 1);
    if (Atomics.load(this.#ring.words, control.read) === Atomics.load(this.#ring.words, control.written)) return true;
    Atomics.store(this.#ring.words, control.asleep, 0);
    return false;
  }

  /** Says how long a datagram took. */
  #note(exporter: number, ms: number, reputation: SenderReputation): void {
    const ofAll = Atomics.load(this.#ring.words, control.meanTime);
    const own = (this.#ring.senders[exporter] as number) & senderBits.time;
    const most = ofAll === 0 ? senderBits.time : Math.min(maxTimes * Math.max(own, ofAll), senderBits.time);
    const isGood = reputation !== "unknown";
    const ns = Math.min(Math.ceil(ms * (isGood ? 1e6 * goodPart : 1e6)), most);
    this.#ring.senders[exporter] = average(own, ns) | (isGood ? senderBits[reputation] : 0);
    Atomics.store(this.#ring.words, control.meanTime, average(ofAll, ns));
  }
}

function average(before: number, ns: number): number {
  return before === 0 ? ns : Math.ceil(before + (ns - before) * latestPart);
}
