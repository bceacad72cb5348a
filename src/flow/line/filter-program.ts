import {
  compileLineFilter,
  type Filter,
  type MatchesLine,
  AddressSet,
  type FilterTerm,
  type Quantity,
} from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";

/** Says which records are wanted, and counts those that are not. */
export class RecordFilter {
  readonly filter: Filter;
  /** The same filter for a line. */
  readonly matches: MatchesLine;
  /** The number of records that were dropped. */
  dropped = 0;

  constructor(filter: Filter) {
    this.filter = filter;
    this.matches = compileLineFilter(filter);
  }

  /** Judges a line that the kernel did not write, and counts it when it is not wanted. */
  accepts(bytes: Buffer, start: number, end: number): boolean {
    const isWanted = this.matches(bytes, start, end);
    if (!isWanted) this.dropped++;
    return isWanted;
  }
}

/**
 * Fields whose values the kernel keeps as they are in the line, if they are wanted. What enrichment may change or add is not among them, nor
 * are fields with several values.
 */
const keptFields: ReadonlySet<string> = new Set([
  "flow.src.ip.addr",
  "flow.dst.ip.addr",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
  "l4.proto.id",
  "flow.bytes",
  "flow.packets",
  "flow.raw.bytes",
  "flow.raw.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "tcp.flags.bits",
  "flow.in.netif.index",
  "flow.out.netif.index",
]);

/** Fields of a filter for which the kernel should have slots. */
export function filterFields(filter: Filter): readonly string[] {
  if ("fields" in filter) return filter.fields.filter((field) => keptFields.has(field));
  return filter.kind === "not" ? filterFields(filter.filter) : filter.filters.flatMap(filterFields);
}

/**
 * Compiles a filter for the kernel: each term becomes a node that tests a slot and leads on, to another node, to the end that keeps or
 * drops the record, or to the one that leaves it to the other side. A filter that needs more memory than there is, is left to that.
 *
 * @param slots where the kernel keeps values, by the names of their fields.
 * @returns the program, which begins at `start`, for the memory from {@link layout.filterProgram} on.
 */
export function filterProgram(
  filter: Filter,
  slots: ReadonlyMap<string, number>,
): { readonly bytes: Uint8Array; readonly start: number } {
  const nodes = new FilterNodes(slots);
  const start = nodes.add(filter, layout.filterKeeps, layout.filterDrops);
  const isTooLong = nodes.end > layout.filterProgramEnd;
  return isTooLong ? { bytes: new Uint8Array(), start: layout.filterAsks } : { bytes: nodes.bytes(), start };
}

type Range = readonly [first: bigint, last: bigint];

type Test =
  | { readonly kind: "exists" }
  | { readonly kind: "ranges"; readonly ranges: readonly Range[] }
  | { readonly kind: "addresses"; readonly ipv4: readonly Range[]; readonly ipv6: readonly Range[] };

/** Slots are exact below; what is above has this number. */
const tooLarge = BigInt(layout.tooLarge);

/** The test of one value; undefined for what the kernel cannot test. */
function testOf(term: FilterTerm): Test | undefined {
  switch (term.kind) {
    case "exists":
      return { kind: "exists" };
    case "compare": {
      if (term.of === "time") return undefined;
      const isBelow = term.operator === "<" || term.operator === "<=";
      const limit = wholeLimit(term.operator, term.value);
      return limit < tooLarge ? rangesTest([isBelow ? [0n, limit] : [limit, tooLarge]]) : undefined;
    }
    case "quantities":
      if (term.of === "time") return undefined;
      return term.ranges.every(({ last }) => last < tooLarge)
        ? rangesTest(term.ranges.map(({ first, last }) => [wholeAbove(first), wholeBelow(last)]))
        : undefined;
    case "addresses": {
      const { ranges } = new AddressSet(term.keys);
      const pairs = ({ first, last }: (typeof ranges)[4]): Range[] => first.map((one, i) => [one, last[i] as bigint]);
      return { kind: "addresses", ipv4: pairs(ranges[4]), ipv6: pairs(ranges[6]) };
    }
    case "texts":
    case "pattern":
    case "regex":
    case "flag":
      break;
  }
  return undefined;
}

/** The greatest or least whole number that an operator takes. */
function wholeLimit(operator: "<" | "<=" | ">" | ">=", value: Quantity): bigint {
  switch (operator) {
    case "<":
      return wholeAbove(value) - 1n;
    case "<=":
      return wholeBelow(value);
    case ">":
      return wholeBelow(value) + 1n;
    case ">=":
      break;
  }
  return wholeAbove(value);
}

const wholeAbove = (value: Quantity): bigint => BigInt(typeof value === "number" ? Math.ceil(value) : value);
const wholeBelow = (value: Quantity): bigint => BigInt(typeof value === "number" ? Math.floor(value) : value);

/** Ranges of whole numbers from 0 on, ascending and merged. */
function rangesTest(ranges: readonly Range[]): Test {
  const merged: [bigint, bigint][] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const from = first < 0n ? 0n : first;
    if (last < from) continue;
    const before = merged.at(-1);
    if (before !== undefined && from <= before[1] + 1n) before[1] = last > before[1] ? last : before[1];
    else merged.push([from, last]);
  }
  return { kind: "ranges", ranges: merged };
}

/** The nodes of a program under construction, the last ones first. */
class FilterNodes {
  readonly #slots: ReadonlyMap<string, number>;
  readonly #chunks: Buffer[] = [];
  /** Both ends of a flow are tested alike. */
  readonly #tables = new Map<readonly Range[], number>();
  #end: number = layout.filterProgram;

  constructor(slots: ReadonlyMap<string, number>) {
    this.#slots = slots;
  }

  get end(): number {
    return this.#end;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }

  /** Adds the nodes of a filter. @returns where it begins, or where it always leads. */
  add(filter: Filter, onTrue: number, onFalse: number): number {
    if ("fields" in filter) return this.#addTerm(filter, onTrue, onFalse);
    if (filter.kind === "not") return this.add(filter.filter, onFalse, onTrue);
    // The filters that the kernel knows come first: they may decide before anybody has to be asked.
    const filters = filter.filters.toSorted((a, b) => Number(this.#isKnown(b)) - Number(this.#isKnown(a)));
    return filter.kind === "and"
      ? filters.reduceRight((next, one) => this.add(one, next, onFalse), onTrue)
      : filters.reduceRight((next, one) => this.add(one, onTrue, next), onFalse);
  }

  /** Adds a term, which matches when one of its fields does. */
  #addTerm(term: FilterTerm, onTrue: number, onFalse: number): number {
    const test = this.#knownTest(term);
    if (test === undefined) return layout.filterAsks;
    const slotOf = (field: string): number => this.#slots.get(field) as number;
    return term.fields.reduceRight((next, field) => this.#addNode(test, slotOf(field), onTrue, next), onFalse);
  }

  #isKnown(filter: Filter): boolean {
    if ("fields" in filter) return this.#knownTest(filter) !== undefined;
    if (filter.kind === "not") return this.#isKnown(filter.filter);
    return filter.filters.every((one) => this.#isKnown(one));
  }

  /** @returns the test of a term whose values the kernel keeps; undefined when it cannot decide it. */
  #knownTest(term: FilterTerm): Test | undefined {
    return term.fields.every((field) => keptFields.has(field) && this.#slots.has(field)) ? testOf(term) : undefined;
  }

  #addNode(test: Test, slot: number, onTrue: number, onFalse: number): number {
    const node = Buffer.alloc(layout.filterNodeBytes);
    node[layout.nodeSlot] = slot;
    node.writeUInt32LE(onTrue, layout.nodeTrue);
    node.writeUInt32LE(onFalse, layout.nodeFalse);
    if (test.kind === "exists") node[layout.nodeTest] = layout.testExists;
    else if (test.kind === "addresses") {
      node[layout.nodeTest] = layout.testAddress;
      node.writeUInt32LE(this.#table(test.ipv4, 1), layout.nodeTable);
      node.writeUInt32LE(test.ipv4.length, layout.nodeCount);
      node.writeUInt32LE(this.#table(test.ipv6, 4), layout.nodeTable6);
      node.writeUInt32LE(test.ipv6.length, layout.nodeCount6);
    } else if (test.ranges.length === 1) {
      const [first, last] = test.ranges[0] as Range;
      node[layout.nodeTest] = layout.testRange;
      node.writeBigInt64LE(first, layout.nodeFirst);
      node.writeBigInt64LE(last, layout.nodeLast);
    } else {
      node[layout.nodeTest] = layout.testRanges;
      node.writeUInt32LE(this.#table(test.ranges, 2), layout.nodeTable);
      node.writeUInt32LE(test.ranges.length, layout.nodeCount);
    }
    return this.#put(node);
  }

  /** Adds pairs of numbers of 32 or 64 bits, or of two words of 64 bits; all filled up to sixteen bytes. */
  #table(ranges: readonly Range[], words: 1 | 2 | 4): number {
    const before = this.#tables.get(ranges);
    if (before !== undefined) return before;
    const size = 8 * words * ranges.length;
    const bytes = Buffer.alloc(Math.ceil(size / 16) * 16);
    ranges.forEach(([first, last], i) => {
      const at = 8 * words * i;
      [first, last].forEach((value, half) => {
        const to = at + 4 * words * half;
        if (words === 1) bytes.writeUInt32LE(Number(value), to);
        else if (words === 2) bytes.writeBigInt64LE(value, to);
        else {
          bytes.writeBigUInt64LE(value >> 64n, to);
          bytes.writeBigUInt64LE(value & 0xffff_ffff_ffff_ffffn, to + 8);
        }
      });
    });
    const at = this.#put(bytes);
    this.#tables.set(ranges, at);
    return at;
  }

  #put(chunk: Buffer): number {
    const at = this.#end;
    this.#chunks.push(chunk);
    this.#end += chunk.length;
    return at;
  }
}
