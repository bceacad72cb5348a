import type { RecordFields, Value } from "../../../record/index.ts";
import { formatMac, formatText, shortestSingle } from "../../elements/mapping/convert-type.ts";
import type { ByteSource } from "../steps/step-value.ts";
import { padded, type CounterType, type XdrLayout } from "./xdr-layout.ts";

/** Reads one value after the other; what would lie behind the end is refused, and then everything after it. */
export interface XdrReader {
  /** Begins with other bytes. */
  reset(source: ByteSource, at: number, end: number): void;
  readonly at: number;
  /** Whether something was refused. */
  readonly isCut: boolean;
  /** Bytes left. */
  readonly left: number;
  /** 0 when refused. */
  uint32(): number;
  /** Undefined when refused, and where the value is not known. */
  value(type: CounterType): Value | undefined;
}

const allOnes = 0xffff_ffff;

export function createXdrReader(): XdrReader {
  let bytes: Buffer = Buffer.alloc(0);
  let view: DataView = new DataView(bytes.buffer, 0, 0);
  let at = 0;
  let end = 0;
  let isCut = false;

  /** Where the next `length` bytes are, -1 when they are not there. */
  const take = (length: number): number => {
    if (isCut || length > end - at) {
      isCut = true;
      return -1;
    }
    const start = at;
    at += length;
    return start;
  };
  const uint32 = (): number => {
    const start = take(4);
    return start < 0 ? 0 : view.getUint32(start);
  };
  const uint64 = (): Value | undefined => {
    const start = take(8);
    if (start < 0) return undefined;
    const high = view.getUint32(start);
    const low = view.getUint32(start + 4);
    return high <= 0x1fffff ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low);
  };
  const counter64 = (): Value | undefined => {
    const isUnknown = end - at >= 8 && view.getUint32(at) === allOnes && view.getUint32(at + 4) === allOnes;
    const value = uint64();
    return isUnknown ? undefined : value;
  };
  const fixed = (length: number): string | undefined => {
    const start = take(length);
    return start < 0 ? undefined : `0x${bytes.toString("hex", start, start + length)}`;
  };
  const known = (value: number): number | undefined => (isCut || value === allOnes ? undefined : value);

  const text = (): string | undefined => {
    const length = uint32();
    const start = take(length);
    if (start < 0) return undefined;
    // What fills it up may be missing at the very end.
    at = Math.min(end, start + padded(length));
    return formatText(bytes, start, length);
  };
  const float = (): number | undefined => {
    const start = take(4);
    const number = start < 0 ? Number.NaN : view.getFloat32(start);
    return Number.isFinite(number) ? shortestSingle(number) : undefined;
  };

  const values: Readonly<Record<CounterType, () => Value | undefined>> = {
    uint32() {
      const number = uint32();
      return isCut ? undefined : number;
    },
    int32() {
      const start = take(4);
      return start < 0 ? undefined : view.getInt32(start);
    },
    uint64,
    count32: () => known(uint32()),
    count64: counter64,
    float,
    percent() {
      const hundredths = known(uint32());
      return hundredths === undefined ? undefined : hundredths / 100;
    },
    mac() {
      const start = take(8);
      return start < 0 ? undefined : formatMac(bytes, start);
    },
    text,
    bytes4: () => fixed(4),
    bytes16: () => fixed(16),
  };

  return {
    reset(source, from, to) {
      ({ bytes, view } = source);
      at = from;
      end = to;
      isCut = false;
    },
    get at() {
      return at;
    },
    get isCut() {
      return isCut;
    },
    get left() {
      return end - at;
    },
    uint32,
    value: (type) => values[type](),
  };
}

export interface LayoutResult {
  /** Whether it ends within a field. */
  readonly isCut: boolean;
  /** Whether all of it is in the record. */
  readonly isWhole: boolean;
}

const whole: LayoutResult = { isCut: false, isWhole: true };
const notWhole: LayoutResult = { isCut: false, isWhole: false };
const cut: LayoutResult = { isCut: true, isWhole: false };

/**
 * Puts the fields of a structure into a record. A name that the record has already keeps its value. A structure may end
 * early, where an older version of it did.
 */
export function readLayout(reader: XdrReader, layout: XdrLayout<CounterType>, record: RecordFields): LayoutResult {
  let isWhole = true;
  for (let i = 0; i < layout.length; i++) {
    if (reader.left === 0 && i > 0) break;
    const [name, type] = layout[i] as (typeof layout)[number];
    const value = reader.value(type);
    if (reader.isCut) return cut;
    if (value === undefined) continue;
    const before = record.get(name);
    if (before === undefined) record.set(name, value);
    else if (before !== value) isWhole = false;
  }
  return isWhole && reader.left === 0 ? whole : notWhole;
}
