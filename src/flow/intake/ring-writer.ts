import { isSessionPort } from "../datagram.ts";

/**
 * The layout of a ring of datagrams in shared memory.
 *
 *     control   Int32   written | read, mean time | asleep | forget                (in 64 bytes each)
 *     data      bytes   entry entry entry … free … entry entry
 *     senders   Uint32  what the reader says of an exporter, by its number
 *
 * `written` and `read` count bytes since the beginning and wrap at 2^32; their difference is what is in the ring. The
 * capacity is a power of two. Entries begin at multiples of 8 and do not cross the end: where one does not fit there, a
 * mark says that the next stands at the beginning.
 *
 *     entry     length Uint32 | exporter Uint32 | port Uint32 | weight Uint32 | received Float64 | length bytes, up to a multiple of 8
 *
 * Exporters are numbered; an entry with a mark for a port says which address a number stands for from there on. Either side
 * may be replaced by another one when its thread dies: a new writer starts a new numbering, a new reader requests one.
 *
 * While the ring is more than an eighth full, the reader says of each exporter how long its datagrams take and its reputation. The
 * writer gives shares by that, and each entry the weight that it had when it was counted.
 */
export interface RingHandle {
  readonly control: SharedArrayBuffer;
  readonly data: SharedArrayBuffer;
  readonly senders: SharedArrayBuffer;
}

/** A ring as numbers and bytes. */
export class RingViews {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly uints: Uint32Array;
  readonly doubles: Float64Array;
  readonly senders: Uint32Array;
  readonly capacity: number;

  constructor({ control: words, data, senders }: RingHandle) {
    this.words = new Int32Array(words);
    this.bytes = new Uint8Array(data);
    this.uints = new Uint32Array(data);
    this.doubles = new Float64Array(data);
    this.senders = new Uint32Array(senders);
    this.capacity = data.byteLength;
  }
}

/** Offsets in the control words, apart from each other because different threads write them. */
export const control = { written: 0, read: 16, meanTime: 17, asleep: 32, forget: 48, words: 64 } as const;

/** From such a part of the ring in use on, the reader notes what it learns of senders. */
export const notesFrom = 1 / 8;

export const entryHeader = 24;
/** The word of an entry that has its weight. */
const weightWord = 3;

/** Addresses come from the network: this many have a number at a time. */
const maxSenders = 65_536;

/**
 * The reputation of a sender, where not all have room. Good: most of what it sent lately became records without a fault. Proven: that, and it was
 * heard for a minute.
 */
export type SenderReputation = "unknown" | "good" | "proven";

/** The bits of what is said of a sender, and of a weight. A proven one is not good in addition. */
export const senderBits = {
  proven: 0x8000_0000,
  good: 0x4000_0000,
  /** For a weight only: it came by a connection. */
  stream: 0x2000_0000,
  /** The time that a datagram takes, in nanoseconds, less for a good sender; 0: not known. */
  time: 0x1fff_ffff,
} as const;

/** Instead of a length: the next entry is at the beginning of the ring. */
export const endMark = 0xffff_ffff;

/** Instead of a port: the entry says the address of an exporter's number. */
export const addressMark = 0xffff_ffff;

/** Bytes that an entry with this many bytes of content takes. */
export function entrySize(length: number): number {
  return (entryHeader + length + 7) & ~7;
}

/** @param bytes is taken up to a power of two, 64 KiB to 1 GiB. */
export function createRing(bytes: number): RingHandle {
  const bits = Math.min(30, Math.max(16, Math.ceil(Math.log2(bytes))));
  return {
    control: new SharedArrayBuffer(4 * control.words),
    data: new SharedArrayBuffer(2 ** bits),
    senders: new SharedArrayBuffer(4 * maxSenders),
  };
}

/** Why a datagram is not to be put in although it would fit: its sender has its share, or all senders of no better reputation have theirs. */
type ShareRefusal = "share" | "standing";

/** A sender may have this many times as much in the ring as is free: one alone fills eight ninths. */
const timesFree = 8;
/** The limit of unknown senders while something of a better one waits: a part of the ring, and as much as takes this time, nanoseconds. */
const unknownPart = 1 / 2;
const unknownTime = 1e9;
/** The part of the ring that they may fill while all are unknown. */
const alonePart = 7 / 8;
/** The part that all may fill that are not proven. */
const unprovenPart = 15 / 16;
/** The part that connections may fill, which wait without loss, of a ring that is half full. */
const streamsPart = 1 / 4;
const knownBits = senderBits.proven | senderBits.good;
const streamsWaitFrom = 1 / 2;
/** Counting begins before anybody can be refused, and ends where the reader notes nothing more. */
const beginsAt = 1 / 4;
const endsAt = notesFrom;
const nothing = { total: 0, unknown: 0, streams: 0, unknownBytes: 0, unprovenBytes: 0 };

type VisitEntry = (at: number, number: number, port: number) => void;

/**
 * Decides who may put something into a ring that is filling up. A share is one of the time that decoding takes: damaged datagrams are short
 * and take long. What a sender has in the ring must not exceed a multiple of what is still free, so that those who send too much
 * share what there is among themselves, and who sends little always finds room. All of a reputation together leave a part to those of a
 * better one: with forged addresses each sender has but little.
 *
 * Shares bind while others wait. Where nothing of others waits, a sender leaves them a part of the ring; one that has had no company for long
 * leaves nothing.
 *
 * Nothing is kept of a ring that is not under pressure.
 */
class FairShare {
  readonly #ring: RingViews;
  /** Time of what waits, by sender. */
  readonly #held: Float64Array;
  #sum = { ...nothing };
  #isTracking = false;
  /** The position from which it counts, in the bytes since the beginning of the ring. */
  #counted = 0;

  constructor(ring: RingViews) {
    this.#ring = ring;
    this.#held = new Float64Array(ring.senders.length);
  }

  /** @param number of the sender; undefined: it has none yet. @param hasCompany whether others sent something lately. */
  refuses(number: number | undefined, hasCompany: boolean): ShareRefusal | undefined {
    const used = this.#look();
    return this.#isTracking ? this.#refusal(number, used, hasCompany) : undefined;
  }

  /** Returns whether what came by connections may go on although the ring is half full, because it is full of something else. */
  admitsStreams(number: number | undefined, hasCompany: boolean): boolean {
    const used = this.#look();
    if (used < this.#ring.capacity * streamsWaitFrom) return true;
    const streams = this.#bytesOf(this.#sum.streams, used);
    return streams < this.#ring.capacity * streamsPart && this.#refusal(number, used, hasCompany) === undefined;
  }

  /** All before this offset was read. To be called before what was read is written over. */
  release(read: number): void {
    if (this.#isTracking) this.#walk(this.#counted, read, this.#forget);
    this.#counted = read;
  }

  /** Gives the entry that was put at this offset its weight, which counts until it is read. */
  wrote(at: number, number: number, port: number): void {
    if (this.#isTracking) this.#weigh(at, number, port);
  }

  #add(at: number, number: number, times: 1 | -1): void {
    const sum = this.#sum;
    const weight = this.#ring.uints[(at >>> 2) + weightWord] as number;
    const time = times * (weight & senderBits.time);
    const bytes = times * entrySize(this.#ring.uints[at >>> 2] as number);
    this.#held[number] = (this.#held[number] as number) + time;
    sum.total += time;
    if ((weight & senderBits.stream) !== 0) sum.streams += time;
    if ((weight & senderBits.proven) !== 0) return;
    sum.unprovenBytes += bytes;
    if ((weight & senderBits.good) !== 0) return;
    sum.unknown += time;
    sum.unknownBytes += bytes;
  }

  readonly #forget: VisitEntry = (at, number) => this.#add(at, number, -1);

  readonly #weigh: VisitEntry = (at, number, port) => {
    const known = this.#ring.senders[number] as number;
    const time = known & senderBits.time || Atomics.load(this.#ring.words, control.meanTime) & senderBits.time || 1;
    const weight = (time | (known & knownBits) | (isSessionPort(port) ? senderBits.stream : 0)) >>> 0;
    this.#ring.uints[(at >>> 2) + weightWord] = weight;
    this.#add(at, number, 1);
  };

  /** Walks over the entries between two offsets. */
  #walk(from: number, to: number, visit: VisitEntry): void {
    const uints = this.#ring.uints;
    let position = from;
    while (position !== to) {
      const at = (position >>> 0) & (this.#ring.capacity - 1);
      const length = uints[at >>> 2] as number;
      if (length === endMark) {
        position = (position + this.#ring.capacity - at) | 0;
        continue;
      }
      const port = uints[(at >>> 2) + 2] as number;
      if (port !== addressMark) visit(at, uints[(at >>> 2) + 1] as number, port);
      position = (position + entrySize(length)) | 0;
    }
  }

  /** @returns the bytes in the ring; what was read meanwhile counts no more. */
  #look(): number {
    const read = Atomics.load(this.#ring.words, control.read);
    const written = Atomics.load(this.#ring.words, control.written);
    const used = (written - read) >>> 0;
    if (this.#isTracking && used < this.#ring.capacity * endsAt) {
      this.#isTracking = false;
      this.#held.fill(0);
      this.#sum = { ...nothing };
    }
    this.release(read);
    if (!this.#isTracking && used >= this.#ring.capacity * beginsAt) {
      this.#isTracking = true;
      this.#walk(read, written, this.#weigh);
    }
    return used;
  }

  /** The bytes that a part of the time of what waits stands for. */
  #bytesOf(time: number, used: number): number {
    return this.#sum.total > 0 ? (used * time) / this.#sum.total : 0;
  }

  #freeFor(reputation: number, used: number): number {
    const capacity = this.#ring.capacity;
    const { total, unknown, unknownBytes, unprovenBytes } = this.#sum;
    const free = capacity - used;
    if ((reputation & senderBits.proven) !== 0) return free;
    if ((reputation & senderBits.good) !== 0) return Math.min(free, capacity * unprovenPart - unprovenBytes);
    if (unknown === total) return capacity * alonePart - used;
    return Math.min(free, capacity * unknownPart - unknownBytes, this.#bytesOf(unknownTime - unknown, used));
  }

  #refusal(number: number | undefined, used: number, hasCompany: boolean): ShareRefusal | undefined {
    const held = number === undefined ? undefined : this.#held[number];
    const known = number === undefined ? 0 : (this.#ring.senders[number] as number);
    if (held === this.#sum.total) {
      const part = (known & knownBits) === 0 ? alonePart : 1;
      return hasCompany && used > timesFree * (this.#ring.capacity * part - used) ? "share" : undefined;
    }
    const free = this.#freeFor(known, used);
    if (free <= 0) return "standing";
    return this.#bytesOf(held ?? 0, used) > timesFree * free ? "share" : undefined;
  }
}

/** When all numbers are taken, those of unknown senders are given again; if these are fewer than this, all are. */
const fewNumbers = maxSenders / 16;

/** A sender that sent something while this many times the ring was written is company, that another sender leaves room for. */
const companyRings = 1024;

/** The one side of a ring that puts datagrams in. */
export class RingWriter {
  readonly #ring: RingViews;
  readonly #shares: FairShare;
  readonly #wake: () => void;
  readonly #numbers = new Map<string, number>();
  /** Numbers that were given and are free again. */
  #free: number[] = [];
  #written: number;
  /** The last sender, and the bytes that were written since somebody else sent. */
  #latest: string | undefined;
  #alone = Number.POSITIVE_INFINITY;

  /** @param wake is called after a write when the reader said that it sleeps: once for each time that it said so. */
  constructor(ring: RingHandle, wake: () => void) {
    this.#ring = new RingViews(ring);
    this.#shares = new FairShare(this.#ring);
    this.#wake = wake;
    this.#written = Atomics.load(this.#ring.words, control.written);
  }

  /**
   * Copies a datagram into the ring.
   *
   * @param address of the sender, in the text that the reader is to get.
   * @param receivedAt milliseconds since the epoch.
   * @returns false when there is no room; nothing has changed then.
   */
  write(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean {
    const words = this.#ring.words;
    if (Atomics.load(words, control.forget) === 1) {
      Atomics.store(words, control.forget, 0);
      this.#forgetNumbers();
    }
    const number = this.#numberOf(address);
    if (number === undefined || !this.#put(bytes, number, port, receivedAt)) return false;
    if (Atomics.load(words, control.asleep) === 1 && Atomics.exchange(words, control.asleep, 0) === 1) this.#wake();
    return true;
  }

  /** Returns whether a sender decoded well, as far as that was looked at. */
  isGood(address: string): boolean {
    const number = this.#numbers.get(address);
    return number !== undefined && this.#isGood(number);
  }

  /** Why a datagram of a sender is to be dropped, see {@link FairShare}; undefined: it is to be written if there is room. */
  refuses(address: string): ShareRefusal | undefined {
    return this.#shares.refuses(this.#numbers.get(address), this.#hasCompany(address));
  }

  /** Bytes in the ring. */
  used(): number {
    return (this.#written - Atomics.load(this.#ring.words, control.read)) >>> 0;
  }

  /**
   * Returns whether a message of a connection is to be written now. Who can wait leaves half of the ring to datagrams, which cannot, and gets a share
   * of that half when datagrams fill it.
   */
  hasRoomForStreams(address: string): boolean {
    return this.#shares.admitsStreams(this.#numbers.get(address), this.#hasCompany(address));
  }

  /** Puts one entry. @returns whether there was room. */
  #put(content: Uint8Array, exporter: number, port: number, receivedAt: number): boolean {
    const { uints, capacity } = this.#ring;
    const size = entrySize(content.length);
    const at = (this.#written >>> 0) & (capacity - 1);
    const rest = capacity - at;
    const skipped = rest < size ? rest : 0;
    const read = Atomics.load(this.#ring.words, control.read);
    const used = (this.#written - read) >>> 0;
    if (used + skipped + size > capacity) return false;
    this.#shares.release(read);
    if (skipped > 0) uints[at >>> 2] = endMark;
    const start = skipped > 0 ? 0 : at;
    uints[start >>> 2] = content.length;
    uints[(start >>> 2) + 1] = exporter;
    uints[(start >>> 2) + 2] = port;
    this.#ring.doubles[(start + 16) >>> 3] = receivedAt;
    this.#ring.bytes.set(content, start + entryHeader);
    if (port !== addressMark) this.#shares.wrote(start, exporter, port);
    this.#written = (this.#written + skipped + size) | 0;
    this.#alone += size;
    Atomics.store(this.#ring.words, control.written, this.#written);
    return true;
  }

  #isGood(number: number): boolean {
    return ((this.#ring.senders[number] as number) & knownBits) !== 0;
  }

  #forgetNumbers(): void {
    this.#numbers.clear();
    this.#free = [];
    this.#ring.senders.fill(0);
  }

  #freeNumber(): number {
    if (this.#numbers.size >= maxSenders) {
      for (const [address, number] of this.#numbers) {
        if (this.#isGood(number)) continue;
        this.#numbers.delete(address);
        this.#ring.senders[number] = 0;
        this.#free.push(number);
      }
      if (this.#free.length < fewNumbers) this.#forgetNumbers();
    }
    return this.#free.at(-1) ?? this.#numbers.size;
  }

  /** The number of an address; a new one is announced to the reader. @returns undefined when there is no room for that. */
  #numberOf(address: string): number | undefined {
    const known = this.#numbers.get(address);
    if (known !== undefined) return known;
    const number = this.#freeNumber();
    if (!this.#put(Buffer.from(address, "latin1"), number, addressMark, 0)) return undefined;
    this.#free.pop();
    this.#numbers.set(address, number);
    return number;
  }

  /** Takes who sends. @returns whether others did lately. */
  #hasCompany(address: string): boolean {
    if (address !== this.#latest) {
      if (this.#latest !== undefined) this.#alone = 0;
      this.#latest = address;
    }
    return this.#alone < companyRings * this.#ring.capacity;
  }
}
