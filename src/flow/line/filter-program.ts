import {
  compileLineFilter,
  type Filter,
  type MatchesLine,
  AddressSet,
  type FilterTerm,
  type Quantity,
} from "../../record/index.ts";
import * as layout from "../kernel/layout.gen.ts";

/** Which records are wanted. */
export interface RecordFilter {
  readonly filter: Filter;
  /** The same filter for a line. */
  readonly matches: MatchesLine;
  /** How many records were dropped. */
  dropped: number;
}

export function createRecordFilter(filter: Filter): RecordFilter {
  return { filter, matches: compileLineFilter(filter), dropped: 0 };
}

/** Judges a line that the kernel did not write, and counts it when it is not wanted. */
export function acceptLine(filter: RecordFilter, bytes: Buffer, start: number, end: number): boolean {
  const isWanted = filter.matches(bytes, start, end);
  if (!isWanted) filter.dropped++;
  return isWanted;
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

/** A program for the kernel: it begins at `start`, in memory from {@link layout.filterProgram} on. */
interface FilterProgram {
  readonly bytes: Uint8Array;
  readonly start: number;
}

/**
 * Compiles a filter for the kernel: each term becomes a node that tests a slot and leads on, to another node, to the end that keeps or
 * drops the record, or to the one that leaves it to the other side. A filter that needs more memory than there is, is left to that.
 *
 * @param slots where the kernel keeps values, by the names of their fields.
 */
export function filterProgram(filter: Filter, slots: ReadonlyMap<string, number>): FilterProgram {
  const writer = createNodeWriter();
  const start = addFilter(filter, layout.filterKeeps, layout.filterDrops, { writer, slots });
  const isTooLong = writer.end() > layout.filterProgramEnd;
  return isTooLong ? { bytes: new Uint8Array(), start: layout.filterAsks } : { bytes: writer.bytes(), start };
}

interface Context {
  readonly writer: NodeWriter;
  readonly slots: ReadonlyMap<string, number>;
}

/** Adds the nodes of a filter, the last ones first. @returns where it begins. */
function addFilter(filter: Filter, onTrue: number, onFalse: number, context: Context): number {
  if ("fields" in filter) return addTerm(filter, onTrue, onFalse, context);
  if (filter.kind === "not") return addFilter(filter.filter, onFalse, onTrue, context);
  const filters = knownFirst(filter.filters, context);
  return filter.kind === "and"
    ? filters.reduceRight((next, one) => addFilter(one, next, onFalse, context), onTrue)
    : filters.reduceRight((next, one) => addFilter(one, onTrue, next, context), onFalse);
}

/** A term matches when one of its fields does. */
function addTerm(term: FilterTerm, onTrue: number, onFalse: number, { writer, slots }: Context): number {
  const test = knownTest(term, slots);
  if (test === undefined) return layout.filterAsks;
  return term.fields.reduceRight((next, field) => writer.add(test, slots.get(field) as number, onTrue, next), onFalse);
}

/** What the kernel knows comes first: it may decide before anybody has to be asked. */
function knownFirst(filters: readonly Filter[], context: Context): readonly Filter[] {
  return filters.toSorted((a, b) => Number(isKnown(b, context)) - Number(isKnown(a, context)));
}

function isKnown(filter: Filter, context: Context): boolean {
  if ("fields" in filter) return knownTest(filter, context.slots) !== undefined;
  if (filter.kind === "not") return isKnown(filter.filter, context);
  return filter.filters.every((one) => isKnown(one, context));
}

/** The test of a term whose values the kernel keeps; undefined when it cannot decide it. */
function knownTest(term: FilterTerm, slots: Context["slots"]): Test | undefined {
  return term.fields.every((field) => keptFields.has(field) && slots.has(field)) ? testOf(term) : undefined;
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

interface NodeWriter {
  /** @returns the place of the node, or where it always leads. */
  add(test: Test, slot: number, onTrue: number, onFalse: number): number;
  end(): number;
  bytes(): Uint8Array;
}

function createNodeWriter(): NodeWriter {
  const pieces: Buffer[] = [];
  /** Both ends of a flow are tested alike. */
  const tables = new Map<readonly Range[], number>();
  let end: number = layout.filterProgram;

  const put = (piece: Buffer): number => {
    const at = end;
    pieces.push(piece);
    end += piece.length;
    return at;
  };
  /** Pairs of numbers of 32 or 64 bits, or of two words of 64 bits; all filled up to sixteen bytes. */
  const table = (ranges: readonly Range[], words: 1 | 2 | 4): number => {
    const before = tables.get(ranges);
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
    const at = put(bytes);
    tables.set(ranges, at);
    return at;
  };

  return {
    add(test, slot, onTrue, onFalse) {
      const node = Buffer.alloc(layout.filterNodeBytes);
      node[layout.nodeSlot] = slot;
      node.writeUInt32LE(onTrue, layout.nodeTrue);
      node.writeUInt32LE(onFalse, layout.nodeFalse);
      if (test.kind === "exists") node[layout.nodeTest] = layout.testExists;
      else if (test.kind === "addresses") {
        node[layout.nodeTest] = layout.testAddress;
        node.writeUInt32LE(table(test.ipv4, 1), layout.nodeTable);
        node.writeUInt32LE(test.ipv4.length, layout.nodeCount);
        node.writeUInt32LE(table(test.ipv6, 4), layout.nodeTable6);
        node.writeUInt32LE(test.ipv6.length, layout.nodeCount6);
      } else if (test.ranges.length === 1) {
        const [first, last] = test.ranges[0] as Range;
        node[layout.nodeTest] = layout.testRange;
        node.writeBigInt64LE(first, layout.nodeFirst);
        node.writeBigInt64LE(last, layout.nodeLast);
      } else {
        node[layout.nodeTest] = layout.testRanges;
        node.writeUInt32LE(table(test.ranges, 2), layout.nodeTable);
        node.writeUInt32LE(test.ranges.length, layout.nodeCount);
      }
      return put(node);
    },
    end: () => end,
    bytes: () => Buffer.concat(pieces),
  };
}
