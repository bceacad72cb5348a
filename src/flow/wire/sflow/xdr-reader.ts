import type { Span, ByteSource } from "../steps/steps.ts";
import type { RecordFields, Value } from "../../../record/index.ts";
import { formatMac, formatText, shortestSingle } from "../../elements/mapping/convert-type.ts";

/**
 * The encoding of a field of a structure (RFC 4506). `count32`, `count64`: all ones mean that the agent does not know the
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

/** The kind of a structure: each has numbers of its own. */
type StructureKind = "sample" | "flow" | "counters";

/** Formats come from the network: names of this many are kept. */
const maxNames = 1024;

/**
 * Structures that do not become fields, in hex: `flow.ie.sflow.<kind>.<enterprise>.<format>`. Each is an array, because a sample may have
 * several of one format.
 */
export class StructureHex {
  readonly #known = new Map<string, Span[]>();
  readonly #names = {
    sample: new Map<number, string>(),
    flow: new Map<number, string>(),
    counters: new Map<number, string>(),
  };

  /** @param key enterprise in the upper twenty bits, format in the lower twelve. */
  add(kind: StructureKind, key: number, at: number, end: number): void {
    const name = this.#nameOf(kind, key);
    const before = this.#known.get(name);
    if (before === undefined) this.#known.set(name, [{ at, end }]);
    else before.push({ at, end });
  }

  /** Tells whether it has none. */
  isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Hands over where those that were added are, by their names, and forgets them. */
  take(put: (name: string, spans: readonly Span[]) => void): void {
    this.#known.forEach((spans, name) => put(name, spans));
    this.#known.clear();
  }

  #nameOf(kind: StructureKind, key: number): string {
    const ofKind = this.#names[kind];
    const before = ofKind.get(key);
    if (before !== undefined) return before;
    if (ofKind.size >= maxNames) ofKind.clear();
    const name = `flow.ie.sflow.${kind}.${key >>> 12}.${key & 0xfff}`;
    ofKind.set(key, name);
    return name;
  }
}

const allOnes = 0xffff_ffff;

/** Reads one value after the other; what would lie behind the end is refused, and then everything after it. */
export class XdrReader {
  #bytes: Buffer = Buffer.alloc(0);
  #view = new DataView(this.#bytes.buffer, 0, 0);
  #at = 0;
  #end = 0;
  #isCut = false;

  /** Begins with other bytes. */
  reset({ bytes, view }: ByteSource, at: number, end: number): void {
    this.#bytes = bytes;
    this.#view = view;
    this.#at = at;
    this.#end = end;
    this.#isCut = false;
  }

  /** True if something was refused. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Bytes left. */
  get left(): number {
    return this.#end - this.#at;
  }

  /** @returns 0 when refused. */
  uint32(): number {
    const start = this.#take(4);
    return start < 0 ? 0 : this.#view.getUint32(start);
  }

  /** @returns undefined when refused, and where the value is not known. */
  value(type: CounterType): Value | undefined {
    switch (type) {
      case "uint32": {
        const number = this.uint32();
        return this.#isCut ? undefined : number;
      }
      case "int32": {
        const start = this.#take(4);
        return start < 0 ? undefined : this.#view.getInt32(start);
      }
      case "uint64":
        return this.#uint64();
      case "count32":
        return this.#count32();
      case "count64":
        return this.#count64();
      case "float": {
        const start = this.#take(4);
        const number = start < 0 ? Number.NaN : this.#view.getFloat32(start);
        return Number.isFinite(number) ? shortestSingle(number) : undefined;
      }
      case "percent": {
        const hundredths = this.#count32();
        return hundredths === undefined ? undefined : hundredths / 100;
      }
      case "mac": {
        const start = this.#take(8);
        return start < 0 ? undefined : formatMac(this.#bytes, start);
      }
      case "text":
        return this.#text();
      case "bytes4":
        return this.#hex(4);
      case "bytes16":
        break;
    }
    return this.#hex(16);
  }

  /** @returns where the next `length` bytes are, -1 when they are not there. */
  #take(length: number): number {
    if (this.#isCut || length > this.left) {
      this.#isCut = true;
      return -1;
    }
    const start = this.#at;
    this.#at += length;
    return start;
  }

  #uint64(): Value | undefined {
    const start = this.#take(8);
    if (start < 0) return undefined;
    const high = this.#view.getUint32(start);
    const low = this.#view.getUint32(start + 4);
    return high <= 0x1fffff ? high * 0x1_0000_0000 + low : (BigInt(high) << 32n) | BigInt(low);
  }

  #count32(): number | undefined {
    const value = this.uint32();
    return this.#isCut || value === allOnes ? undefined : value;
  }

  #count64(): Value | undefined {
    const view = this.#view;
    const at = this.#at;
    const isUnknown = this.left >= 8 && view.getUint32(at) === allOnes && view.getUint32(at + 4) === allOnes;
    const value = this.#uint64();
    return isUnknown ? undefined : value;
  }

  #hex(length: number): string | undefined {
    const start = this.#take(length);
    return start < 0 ? undefined : `0x${this.#bytes.toString("hex", start, start + length)}`;
  }

  #text(): string | undefined {
    const length = this.uint32();
    const start = this.#take(length);
    if (start < 0) return undefined;
    // The bytes that fill it up may be missing at the very end.
    this.#at = Math.min(this.#end, start + padded(length));
    return formatText(this.#bytes, start, length);
  }
}

/** The outcome of reading a structure: `more` is behind the last field, or is not in the record; `cut` within one. */
export type StructureOutcome = "whole" | "more" | "cut";

/**
 * Puts the fields of a structure into a record. A name that the record has already keeps its value. A structure may end
 * early, where an older version of it did.
 */
export function readLayout(reader: XdrReader, layout: XdrLayout<CounterType>, record: RecordFields): StructureOutcome {
  let isWhole = true;
  for (let i = 0; i < layout.length; i++) {
    if (reader.left === 0 && i > 0) break;
    const [name, type] = layout[i] as (typeof layout)[number];
    const value = reader.value(type);
    if (reader.isCut) return "cut";
    if (value === undefined) continue;
    const before = record.get(name);
    if (before === undefined) record.set(name, value);
    else if (before !== value) isWhole = false;
  }
  return isWhole && reader.left === 0 ? "whole" : "more";
}
