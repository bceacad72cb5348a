import { createFairShare, type ShareRefusal } from "./fair-share.ts";
import {
  addressMark,
  control,
  entryHeader,
  entrySize,
  marks,
  maxSenders,
  senderBits,
  type RingHandle,
} from "./ring-layout.ts";

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
