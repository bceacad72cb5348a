import type { Sink } from "../record/index.ts";

/** Lines in shared memory, told by the thread that wrote them to the one that has the outputs. */
export interface LineNote {
  /** Which slab they lie in. */
  readonly slab: number;
  /** The slab itself, where it is new. */
  readonly memory?: SharedArrayBuffer;
  readonly from: number;
  readonly to: number;
  /** Records. */
  readonly count: number;
}

export interface LineOutboxOptions {
  /** How many notes of each slab have been dealt with, by its number: an Int32 each. Its length is the number of slabs. */
  readonly returned: SharedArrayBuffer;
  /** Bytes of a slab. */
  readonly slabBytes: number;
  /** Tells the other thread of lines; its notes must arrive in order. */
  readonly post: (note: LineNote) => void;
  /** Told of lines for which there was no memory. */
  readonly dropped: (records: number, bytes: number) => void;
}

/** A sink whose lines are read in another thread without being copied: they are written where both can see them. */
export interface LineOutbox extends Sink {
  /** Memory for lines, to be given to the line buffer that writes to this sink. */
  allocate(bytes: number): Buffer;
  /** Whether some slabs are free. Who goes on without them loses lines. */
  hasRoom(): boolean;
  /** Posts what was written and not posted yet. A note is posted by itself when it has grown large. */
  flush(): void;
}

/** Lines are told of in pieces of about this size, so that a note, which wakes a thread, costs nothing beside them. */
const noteBytes = 1024 * 1024;

/** Slabs that must be free for {@link LineOutbox.hasRoom}: what some datagrams can fill. */
const reserve = 2;

interface Slab {
  readonly number: number;
  readonly memory: SharedArrayBuffer;
  readonly buffer: Buffer;
  /** Notes posted of it. */
  posted: number;
  isKnown: boolean;
}

export function createLineOutbox(options: LineOutboxOptions): LineOutbox {
  const { slabBytes, post, dropped } = options;
  const returned = new Int32Array(options.returned);
  const slabs: Slab[] = [];
  /** The slab that lines are being written to. */
  let current: Slab | undefined;
  /** The slab of what is not posted yet. */
  let pending: Slab | undefined;
  /** Memory for lines that are lost because every slab is in use. */
  let spare: Buffer | undefined;
  let from = 0;
  let to = 0;
  let count = 0;

  const isFree = (slab: Slab): boolean =>
    slab !== current && Atomics.load(returned, slab.number) === slab.posted && (slab !== pending || count === 0);
  const addSlab = (): Slab => {
    const memory = new SharedArrayBuffer(slabBytes);
    const slab = { number: slabs.length, memory, buffer: Buffer.from(memory), posted: 0, isKnown: false };
    slabs.push(slab);
    return slab;
  };

  const freeSlab = (): Slab | undefined =>
    slabs.find(isFree) ?? (slabs.length < returned.length ? addSlab() : undefined);

  const tell = (slab: Slab, first: number, end: number, records: number): void => {
    slab.posted = (slab.posted + 1) | 0;
    const note = { slab: slab.number, from: first, to: end, count: records };
    post(slab.isKnown ? note : { ...note, memory: slab.memory });
    slab.isKnown = true;
  };

  const flush = (): void => {
    if (count === 0 || pending === undefined) return;
    tell(pending, from, to, count);
    count = 0;
  };

  /** Lines that were not written to the current slab: what the line buffer had to give memory of its own. */
  const copy = (lines: Uint8Array, records: number): void => {
    flush();
    const slab = lines.length <= slabBytes ? freeSlab() : undefined;
    if (slab === undefined) {
      dropped(records, lines.length);
      return;
    }
    slab.buffer.set(lines);
    tell(slab, 0, lines.length, records);
  };

  return {
    allocate(bytes) {
      current = undefined;
      if (bytes > slabBytes) return Buffer.allocUnsafeSlow(bytes);
      const slab = freeSlab();
      if (slab === undefined) return (spare ??= Buffer.allocUnsafeSlow(slabBytes));
      current = slab;
      return slab.buffer;
    },
    write(lines, records) {
      if (current === undefined || lines.buffer !== current.memory) {
        copy(lines, records);
        return;
      }
      const start = lines.byteOffset;
      if (count > 0 && pending === current && start === to) {
        to += lines.length;
        count += records;
      } else {
        flush();
        pending = current;
        from = start;
        to = start + lines.length;
        count = records;
      }
      if (to - from >= noteBytes) flush();
    },
    hasRoom() {
      let free = returned.length - slabs.length;
      for (let i = 0; i < slabs.length && free < reserve; i++) if (isFree(slabs[i] as Slab)) free++;
      return free >= reserve;
    },
    flush,
  };
}
