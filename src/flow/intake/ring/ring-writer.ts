import { addressMark, control, entryHeader, entrySize, marks, type RingHandle } from "./ring-layout.ts";

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
  /** Bytes in the ring. */
  used(): number;
  /** Whether it is less than half full: who can wait leaves the other half to datagrams, which cannot. */
  hasRoomForStreams(): boolean;
}

/** Addresses come from the network: this many have a number, then numbering begins again. */
const maxAddresses = 65_536;

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
  const numbers = new Map<string, number>();
  let written = Atomics.load(words, control.written);

  /** Puts one entry. @returns whether there was room. */
  const put = (content: Uint8Array, exporter: number, port: number, receivedAt: number): boolean => {
    const size = entrySize(content.length);
    const at = (written >>> 0) & mask;
    const rest = capacity - at;
    const skipped = rest < size ? rest : 0;
    const used = (written - Atomics.load(words, control.read)) >>> 0;
    if (used + skipped + size > capacity) return false;
    if (skipped > 0) uints[at >>> 2] = marks.wrap;
    const start = skipped > 0 ? 0 : at;
    uints[start >>> 2] = content.length;
    uints[(start >>> 2) + 1] = exporter;
    uints[(start >>> 2) + 2] = port;
    doubles[(start + 16) >>> 3] = receivedAt;
    bytesOf.set(content, start + entryHeader);
    written = (written + skipped + size) | 0;
    Atomics.store(words, control.written, written);
    return true;
  };

  /** The number of an address; a new one is announced to the reader. @returns undefined when there is no room for that. */
  const numberOf = (address: string): number | undefined => {
    const known = numbers.get(address);
    if (known !== undefined) return known;
    if (numbers.size >= maxAddresses) numbers.clear();
    const number = numbers.size;
    if (!put(Buffer.from(address, "latin1"), number, addressMark, 0)) return undefined;
    numbers.set(address, number);
    return number;
  };

  const used = (): number => (written - Atomics.load(words, control.read)) >>> 0;

  return {
    write(bytes, address, port, receivedAt) {
      if (Atomics.load(words, control.forget) === 1) {
        Atomics.store(words, control.forget, 0);
        numbers.clear();
      }
      const number = numberOf(address);
      if (number === undefined || !put(bytes, number, port, receivedAt)) return false;
      if (Atomics.load(words, control.asleep) === 1 && Atomics.exchange(words, control.asleep, 0) === 1) wake();
      return true;
    },
    used,
    hasRoomForStreams: () => used() < capacity / 2,
  };
}
