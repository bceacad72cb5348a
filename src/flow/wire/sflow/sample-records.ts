import { padded } from "./xdr-layout.ts";

/** The records of a sample, located. Filled again and again. */
export interface SampleRecords {
  /** How many are there, and how many the sample claims. */
  found: number;
  claimed: number;
  /** Whether the last one is shorter than it says, or there is no room for the count. */
  isCut: boolean;
  /** Bytes behind them. */
  left: number;
  readonly keys: Uint32Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

const maxRecords = 8192;

export function createSampleRecords(): SampleRecords {
  return {
    found: 0,
    claimed: 0,
    isCut: false,
    left: 0,
    keys: new Uint32Array(maxRecords),
    starts: new Uint32Array(maxRecords),
    ends: new Uint32Array(maxRecords),
  };
}

/** Finds the records of a sample: a count, then format, length and content of each, up to `end`. */
export function locateRecords(view: DataView, at: number, end: number, into: SampleRecords): void {
  const { keys, starts, ends } = into;
  let position = at + 4;
  into.isCut = position > end;
  const count = into.isCut ? 0 : view.getUint32(at);
  let found = 0;
  for (; found < count && end - position >= 8 && found < maxRecords; found++) {
    const length = view.getUint32(position + 4);
    keys[found] = view.getUint32(position);
    position += 8;
    starts[found] = position;
    if (length > end - position) {
      into.isCut = true;
      position = end;
      ends[found] = end;
    } else {
      ends[found] = position + length;
      position = Math.min(end, position + padded(length));
    }
  }
  into.found = found;
  into.claimed = count;
  into.left = Math.max(0, end - position);
}
