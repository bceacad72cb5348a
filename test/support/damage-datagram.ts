/** More than any datagram has. */
const maxDatagram = 65_507;
/** What two datagrams are joined to at most. */
const maxJoined = 9000;

/** Numbers at edges, of sets and lists, of elements that change how a record is read. */
const extremes = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 34, 48, 82, 95, 160, 210, 239, 255, 256, 291, 292, 293, 302, 305, 315, 0x7279, 0x7fff,
  0x8000, 0x8001, 0xfffe, 0xffff,
];
const words = [0, 1, 2, 3, 4, 7, 255, 1001, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff];

/** Makes damaged datagrams of real ones. */
export interface DatagramDamage {
  /** @returns a datagram in a memory that the next call writes to again. */
  next(): Buffer;
}

/** @param random unsigned 32-bit numbers. */
export function createDatagramDamage(real: readonly Buffer[], random: () => number): DatagramDamage {
  const memory = Buffer.alloc(maxDatagram + maxJoined);
  const pick = (): Buffer => real[random() % real.length] as Buffer;

  /** Once, at a place from `start` on. Returns the new length. */
  const damageOnce = (start: number, length: number): number => {
    const at = start + (random() % (length - start));
    switch (random() % 10) {
      case 0:
        memory[at] = (memory[at] as number) ^ (1 << (random() % 8));
        return length;
      case 1:
        memory[at] = random() & 0xff;
        return length;
      case 2: {
        // Lengths, counts, ids and field types are all two bytes, mostly at even places.
        const place = at & ~1;
        const value = random() % 4 === 0 ? length - place : (extremes[random() % extremes.length] as number);
        memory.writeUInt16BE(value & 0xffff, place);
        return length;
      }
      case 3:
        return random() % 4 === 0 ? at : length;
      case 4: {
        const other = pick();
        const from = random() % other.length;
        return at + other.copy(memory, at, from);
      }
      case 5:
        memory.copyWithin(random() % length, at, Math.min(length, at + 1 + (random() % 64)));
        return length;
      case 6: {
        // The sets of one datagram behind those of another.
        const other = pick();
        const from = Math.min(other.length, headerLength(other));
        if (length + other.length - from > maxJoined) return length;
        return length + other.copy(memory, length, from);
      }
      case 7: {
        // What sFlow says is four bytes.
        const value = random() % 4 === 0 ? length - at : (words[random() % words.length] as number);
        memory.writeUInt32BE(value >>> 0, at & ~3);
        return length;
      }
      case 8: {
        const added = 1 + (random() % 9);
        memory.copyWithin(at + added, at, length);
        memory.fill(random() & 0xff, at, at + added);
        return length + added;
      }
      default:
        // All bytes of one field to the edge of what it can say.
        memory.fill(random() % 2 === 0 ? 0 : 0xff, at, Math.min(length, at + (1 << (random() % 4))));
        return length;
    }
  };

  return {
    next() {
      const original = pick();
      let length = original.copy(memory);
      const kind = random() % 8;
      if (kind === 0) return memory.subarray(0, length);
      // Where templates stay whole, what is damaged gets to those who decode records.
      const start = kind < 4 ? dataStart(memory, length) : 0;
      for (let times = random() % 5; times >= 0 && length > start; times--) {
        length = Math.min(damageOnce(start, length), maxDatagram);
      }
      // Nothing behind a wrong length is read, so most get the right one.
      if (length >= 4 && memory.readUInt16BE(0) === 10 && random() % 4 !== 0) memory.writeUInt16BE(length, 2);
      return memory.subarray(0, length);
    },
  };
}

function headerLength(bytes: Buffer): number {
  return bytes.length >= 2 && bytes.readUInt16BE(0) === 10 ? 16 : 20;
}

/** Where the records of the first data set begin; 0 when there is none. */
function dataStart(bytes: Buffer, length: number): number {
  const version = bytes.readUInt16BE(0);
  if (version === 5 || version === 7 || version === 1) return Math.min(24, length - 1);
  if (version !== 9 && version !== 10) return 0;
  for (let at = version === 10 ? 16 : 20; at + 4 < length;) {
    if (bytes.readUInt16BE(at) >= 256) return at + 4;
    const setLength = bytes.readUInt16BE(at + 2);
    if (setLength < 4) return 0;
    at += setLength;
  }
  return 0;
}
