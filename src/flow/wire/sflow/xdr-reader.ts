import type { Span, ByteSource } from "../steps/steps.ts";
import type { RecordFields, Value } from "../../../record/index.ts";
import { formatMac, formatText, shortestSingle } from "../../elements/mapping/convert-type.ts";

/**
 * How a field of a structure is encoded (RFC 4506). `count32`, `count64`: all ones mean that the agent does not know the
 * value, then there is no field. `mac`: six bytes, padded to eight. `text`: a length and this many bytes.
 */
type CommonType = "uint32" | "uint64" | "count32" | "mac" | "text";

/**
 * Types of flow structures. `address`: a type and 0, 4 or 16 bytes. `labels`: a count and this many entries of an MPLS label stack, `tags`
 * of 802.1Q tags with their type; of both come the numbers.
 */
export type FlowType = CommonType | "ipv4" | "ipv6" | "address" | "labels" | "tags";

/** Types of counter structures. `percent`: hundredths of a percent, all ones unknown. */
export type CounterType = CommonType | "int32" | "count64" | "float" | "percent" | "bytes4" | "bytes16";

/** The fields of a structure in order, each with its name in records. */
export type XdrLayout<Type> = readonly (readonly [name: string, type: Type])[];

/** Bytes with what fills them up to a multiple of four. */
export function padded(length: number): number {
  return length + ((4 - (length & 3)) & 3);
}

/** What a structure is of: each has numbers of its own. */
type StructureKind = "sample" | "flow" | "counters";

/**
 * Structures that do not become fields, in hex: `flow.ie.sflow.<kind>.<enterprise>.<format>`. Each is an array, because a sample may have
 * several of one format.
 */
interface StructureHex {
  /** @param key enterprise in the upper twenty bits, format in the lower twelve. */
  add(kind: StructureKind, key: number, at: number, end: number): void;
  /** Whether there are any. */
  isEmpty(): boolean;
  /** Hands over where those that were added are, by their names, and forgets them. */
  take(put: (name: string, spans: readonly Span[]) => void): void;
}

/** Formats come from the network: names of this many are kept. */
const maxNames = 1024;

export function createStructureHex(): StructureHex {
  const known = new Map<string, Span[]>();
  const names = {
    sample: new Map<number, string>(),
    flow: new Map<number, string>(),
    counters: new Map<number, string>(),
  };

  const nameOf = (kind: StructureKind, key: number): string => {
    const ofKind = names[kind];
    const before = ofKind.get(key);
    if (before !== undefined) return before;
    if (ofKind.size >= maxNames) ofKind.clear();
    const name = `flow.ie.sflow.${kind}.${key >>> 12}.${key & 0xfff}`;
    ofKind.set(key, name);
    return name;
  };

  return {
    add(kind, key, at, end) {
      const name = nameOf(kind, key);
      const before = known.get(name);
      if (before === undefined) known.set(name, [{ at, end }]);
      else before.push({ at, end });
    },
    isEmpty: () => known.size === 0,
    take(put) {
      known.forEach((spans, name) => put(name, spans));
      known.clear();
    },
  };
}

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
