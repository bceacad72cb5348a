import { isSessionPort } from "./socket.ts";

/**
 * How a ring of datagrams lies in shared memory.
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
 * While the ring is more than an eighth full, the reader says of each exporter how long its datagrams take and how it stands. The
 * writer gives shares by that, and each entry the weight that it had when it was counted.
 */
export interface RingHandle {
  readonly control: SharedArrayBuffer;
  readonly data: SharedArrayBuffer;
  readonly senders: SharedArrayBuffer;
}

/** Places in the control words, apart from each other because different threads write them. */
export const control = { written: 0, read: 16, meanTime: 17, asleep: 32, forget: 48, words: 64 } as const;

/** From such a part of the ring in use on, the reader notes what it learns of senders. */
export const notesFrom = 1 / 8;

export const entryHeader = 24;
/** The word of an entry that has its weight. */
const weightWord = 3;

/** Addresses come from the network: this many have a number at a time. */
const maxSenders = 65_536;

/**
 * How a sender stands where not all have room. Good: most of what it sent lately became records without a fault. Proven: that, and it was
 * heard for a minute.
 */
export type SenderStanding = "unknown" | "good" | "proven";

/** The bits of what is said of a sender, and of a weight. A proven one is not good in addition. */
export const senderBits = {
  proven: 0x8000_0000,
  good: 0x4000_0000,
  /** Of a weight only: it came by a connection. */
  stream: 0x2000_0000,
  /** How long a datagram takes, in nanoseconds, less for a good sender; 0: not known. */
  time: 0x1fff_ffff,
} as const;

/** In place of a length. */
export const marks = {
  /** The next entry is at the beginning of the ring. */
  wrap: 0xffff_ffff,
} as const;

/** In place of a port: the entry says the address of an exporter's number. */
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

/** Why a datagram is not to be put in although it would fit: its sender has its share, or all senders that stand no better have theirs. */
type ShareRefusal = "share" | "standing";

/**
 * Who may put something into a ring that is filling up. A share is one of the time that decoding takes: damaged datagrams are short
 * and take long. What a sender has in the ring must not exceed a multiple of what is still free, so that those who send too much
 * share what there is among themselves, and who sends little always finds room. All of a standing together leave a part to those that stand
 * better: with forged addresses each sender has but little.
 *
 * Shares bind while others wait. Where nothing of others waits, a sender leaves them a part of the ring; one that has had no company for long
 * leaves nothing.
 *
 * Nothing is kept of a ring that is not under pressure.
 */
interface FairShare {
  /** @param number of the sender; undefined: it has none yet. @param hasCompany whether others sent something lately. */
  refuses(number: number | undefined, hasCompany: boolean): ShareRefusal | undefined;
  /** Whether what came by connections may go on although the ring is half full, because it is full of something else. */
  admitsStreams(number: number | undefined, hasCompany: boolean): boolean;
  /** All before this place was read. To be called before what was read is written over. */
  release(read: number): void;
  /** An entry was put at this place. */
  wrote(at: number, number: number, port: number): void;
}

/** A sender may have this many times as much in the ring as is free: one alone fills eight ninths. */
const timesFree = 8;
/** What of unknown senders may wait while something of a better one does: a part of the ring, and as much as takes this time, nanoseconds. */
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

function createFairShare(ring: RingHandle): FairShare {
  const words = new Int32Array(ring.control);
  const uints = new Uint32Array(ring.data);
  const senders = new Uint32Array(ring.senders);
  const capacity = ring.data.byteLength;
  const mask = capacity - 1;
  /** Time of what waits, by sender. */
  const held = new Float64Array(senders.length);
  const nothing = { total: 0, unknown: 0, streams: 0, unknownBytes: 0, unprovenBytes: 0 };
  let sum = { ...nothing };
  let isTracking = false;
  /** What is counted begins here, in the bytes since the beginning of the ring. */
  let counted = 0;

  const add = (at: number, number: number, times: 1 | -1): void => {
    const weight = uints[(at >>> 2) + weightWord] as number;
    const time = times * (weight & senderBits.time);
    const bytes = times * entrySize(uints[at >>> 2] as number);
    held[number] = (held[number] as number) + time;
    sum.total += time;
    if ((weight & senderBits.stream) !== 0) sum.streams += time;
    if ((weight & senderBits.proven) !== 0) return;
    sum.unprovenBytes += bytes;
    if ((weight & senderBits.good) !== 0) return;
    sum.unknown += time;
    sum.unknownBytes += bytes;
  };

  /** Gives an entry its weight, which counts until it is read. */
  const weigh = (at: number, number: number, port: number): void => {
    const known = senders[number] as number;
    const time = known & senderBits.time || Atomics.load(words, control.meanTime) & senderBits.time || 1;
    const weight = (time | (known & knownBits) | (isSessionPort(port) ? senderBits.stream : 0)) >>> 0;
    uints[(at >>> 2) + weightWord] = weight;
    add(at, number, 1);
  };

  /** Walks over the entries between two places. */
  const walk = (from: number, to: number, take: (at: number, number: number, port: number) => void): void => {
    let position = from;
    while (position !== to) {
      const at = (position >>> 0) & mask;
      const length = uints[at >>> 2] as number;
      if (length === marks.wrap) {
        position = (position + capacity - at) | 0;
        continue;
      }
      const port = uints[(at >>> 2) + 2] as number;
      if (port !== addressMark) take(at, uints[(at >>> 2) + 1] as number, port);
      position = (position + entrySize(length)) | 0;
    }
  };

  const forget = (at: number, number: number): void => add(at, number, -1);

  const release = (read: number): void => {
    if (isTracking) walk(counted, read, forget);
    counted = read;
  };

  /** @returns the bytes in the ring; what was read meanwhile counts no more. */
  const look = (): number => {
    const read = Atomics.load(words, control.read);
    const written = Atomics.load(words, control.written);
    const used = (written - read) >>> 0;
    if (isTracking && used < capacity * endsAt) {
      isTracking = false;
      held.fill(0);
      sum = { ...nothing };
    }
    release(read);
    if (!isTracking && used >= capacity * beginsAt) {
      isTracking = true;
      walk(read, written, weigh);
    }
    return used;
  };

  /** The bytes that a part of the time of what waits stands for. */
  const bytesOf = (time: number, used: number): number => (sum.total > 0 ? (used * time) / sum.total : 0);

  const freeFor = (standing: number, used: number): number => {
    const free = capacity - used;
    if ((standing & senderBits.proven) !== 0) return free;
    if ((standing & senderBits.good) !== 0) return Math.min(free, capacity * unprovenPart - sum.unprovenBytes);
    if (sum.unknown === sum.total) return capacity * alonePart - used;
    return Math.min(free, capacity * unknownPart - sum.unknownBytes, bytesOf(unknownTime - sum.unknown, used));
  };

  const refusal = (number: number | undefined, used: number, hasCompany: boolean): ShareRefusal | undefined => {
    if (number !== undefined && held[number] === sum.total) {
      const part = ((senders[number] as number) & knownBits) === 0 ? alonePart : 1;
      return hasCompany && used > timesFree * (capacity * part - used) ? "share" : undefined;
    }
    const free = freeFor(number === undefined ? 0 : (senders[number] as number), used);
    if (free <= 0) return "standing";
    const own = number === undefined ? 0 : bytesOf(held[number] as number, used);
    return own > timesFree * free ? "share" : undefined;
  };

  return {
    refuses(number, hasCompany) {
      const used = look();
      return isTracking ? refusal(number, used, hasCompany) : undefined;
    },
    admitsStreams(number, hasCompany) {
      const used = look();
      if (used < capacity * streamsWaitFrom) return true;
      return bytesOf(sum.streams, used) < capacity * streamsPart && refusal(number, used, hasCompany) === undefined;
    },
    release,
    wrote(at, number, port) {
      if (isTracking) weigh(at, number, port);
    },
  };
}

/** The one side of a ring that puts datagrams in. */
export interface RingWriter {
  /**
   * Copies a datagram into the ring.
   *
   * @param address of the sender, in the text that the reader is to get.
   * @param receivedAt milliseconds since the epoch.
   * @returns false when there is no room; nothing has changed then.
   */
  write(bytes: Uint8Array, address: string, port: number, receivedAt: number): boolean;
  /** Why a datagram of a sender is to be dropped, see {@link FairShare}; undefined: it is to be written if there is room. */
  refuses(address: string): ShareRefusal | undefined;
  /** Whether a sender decoded well, as far as that was looked at. */
  isGood(address: string): boolean;
  /** Bytes in the ring. */
  used(): number;
  /**
   * Whether a message of a connection is to be written now. Who can wait leaves half of the ring to datagrams, which cannot, and gets a share
   * of that half when datagrams fill it.
   */
  hasRoomForStreams(address: string): boolean;
}

/** When all numbers are taken, those of unknown senders are given again; if these are fewer than this, all are. */
const fewNumbers = maxSenders / 16;

/** Who sent something while this many times the ring was written is company, that a sender leaves room for. */
const companyRings = 1024;

/**
 * @param wake is called after a write when the reader said that it sleeps: once for each time that it said so.
 */
export function createRingWriter(ring: RingHandle, wake: () => void): RingWriter {
  const words = new Int32Array(ring.control);
  const bytesOf = new Uint8Array(ring.data);
  const uints = new Uint32Array(ring.data);
  const doubles = new Float64Array(ring.data);
  const capacity = bytesOf.length;
  const mask = capacity - 1;
  const senders = new Uint32Array(ring.senders);
  const numbers = new Map<string, number>();
  /** Numbers that were given and are free again. */
  let free: number[] = [];
  const shares = createFairShare(ring);
  let written = Atomics.load(words, control.written);
  /** Who sent last, and the bytes that were written since somebody else did. */
  let latest: string | undefined;
  let alone = Number.POSITIVE_INFINITY;

  /** Puts one entry. @returns whether there was room. */
  const put = (content: Uint8Array, exporter: number, port: number, receivedAt: number): boolean => {
    const size = entrySize(content.length);
    const at = (written >>> 0) & mask;
    const rest = capacity - at;
    const skipped = rest < size ? rest : 0;
    const read = Atomics.load(words, control.read);
    const used = (written - read) >>> 0;
    if (used + skipped + size > capacity) return false;
    shares.release(read);
    if (skipped > 0) uints[at >>> 2] = marks.wrap;
    const start = skipped > 0 ? 0 : at;
    uints[start >>> 2] = content.length;
    uints[(start >>> 2) + 1] = exporter;
    uints[(start >>> 2) + 2] = port;
    doubles[(start + 16) >>> 3] = receivedAt;
    bytesOf.set(content, start + entryHeader);
    if (port !== addressMark) shares.wrote(start, exporter, port);
    written = (written + skipped + size) | 0;
    alone += size;
    Atomics.store(words, control.written, written);
    return true;
  };

  const isGood = (number: number): boolean =>
    ((senders[number] as number) & (senderBits.proven | senderBits.good)) !== 0;

  const forgetNumbers = (): void => {
    numbers.clear();
    free = [];
    senders.fill(0);
  };

  const freeNumber = (): number => {
    if (numbers.size >= maxSenders) {
      for (const [address, number] of numbers) {
        if (isGood(number)) continue;
        numbers.delete(address);
        senders[number] = 0;
        free.push(number);
      }
      if (free.length < fewNumbers) forgetNumbers();
    }
    return free.at(-1) ?? numbers.size;
  };

  /** The number of an address; a new one is announced to the reader. @returns undefined when there is no room for that. */
  const numberOf = (address: string): number | undefined => {
    const known = numbers.get(address);
    if (known !== undefined) return known;
    const number = freeNumber();
    if (!put(Buffer.from(address, "latin1"), number, addressMark, 0)) return undefined;
    free.pop();
    numbers.set(address, number);
    return number;
  };

  /** Takes who sends. @returns whether others did lately. */
  const hasCompany = (address: string): boolean => {
    if (address !== latest) {
      if (latest !== undefined) alone = 0;
      latest = address;
    }
    return alone < companyRings * capacity;
  };

  const used = (): number => (written - Atomics.load(words, control.read)) >>> 0;

  return {
    write(bytes, address, port, receivedAt) {
      if (Atomics.load(words, control.forget) === 1) {
        Atomics.store(words, control.forget, 0);
        forgetNumbers();
      }
      const number = numberOf(address);
      if (number === undefined || !put(bytes, number, port, receivedAt)) return false;
      if (Atomics.load(words, control.asleep) === 1 && Atomics.exchange(words, control.asleep, 0) === 1) wake();
      return true;
    },
    isGood(address) {
      const number = numbers.get(address);
      return number !== undefined && isGood(number);
    },
    refuses: (address) => shares.refuses(numbers.get(address), hasCompany(address)),
    used,
    hasRoomForStreams: (address) => shares.admitsStreams(numbers.get(address), hasCompany(address)),
  };
}
