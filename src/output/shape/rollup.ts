import { fieldKey, forEachField } from "../delivery/line-fields.ts";
import { createSums, isWhole, summedFields, type Sums } from "./summed-fields.ts";

export interface RollupOptions {
  /** The fields whose values make a group. */
  readonly fields: readonly string[];
  /** So many groups are kept at most. */
  readonly maxGroups: number;
}

/** What became of a line. `other`: it has no counters that can be added, or is no flow. `full`: there is no room for its group. */
export type RollupOutcome = "added" | "other" | "full";

/** Adds flow records up: one for all whose chosen fields are the same. */
export interface Rollup {
  /** Takes the record of a line, with its line feed or without. What is not `added` is to be passed on as it is. */
  add(from: Buffer, start: number, end: number): RollupOutcome;
  readonly groups: number;
  /**
   * Takes the groups away.
   *
   * @param time of the records, RFC 3339.
   * @returns the line of each group, one after the other as it is asked for.
   */
  take(time: string): Iterable<string>;
}

interface Group {
  readonly sums: Sums;
  records: number;
  /** With their quotes; empty where no record had one. */
  start: string;
  end: string;
}

/** What a field is for: a place among the chosen ones, a number to be added, a time; or that the record stays as it is. */
type Use = { readonly kind: "group" | "sum"; readonly index: number } | { readonly kind: "start" | "end" | "type" };

/** Names that cannot be chosen, because they are made of all records of a group. */
export const rolledUpFields: ReadonlySet<string> = new Set([
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.record.type",
  "flow.rollup.records",
  ...summedFields,
]);

export function createRollup({ fields, maxGroups }: RollupOptions): Rollup {
  const uses = usesByLength(fields);
  const names = fields.map((name) => `,${JSON.stringify(name)}:`);
  const values: string[] = fields.map(() => "");
  const starts = new Uint32Array(summedFields.length);
  const ends = new Uint32Array(summedFields.length);
  let groups = new Map<string, Group>();
  let counters = 0;
  let isOther = false;
  let from = Buffer.alloc(0);
  let start = "";
  let end = "";

  const visit = (name: number, value: number, valueEnd: number): void => {
    const use = useOf(uses, from, name, value);
    if (use === undefined) return;
    switch (use.kind) {
      case "group":
        values[use.index] = from.toString("latin1", value, valueEnd);
        break;
      case "sum":
        if (!isWhole(from, value, valueEnd)) isOther = true;
        starts[use.index] = value;
        ends[use.index] = valueEnd;
        counters++;
        break;
      case "start":
        start = from.toString("latin1", value, valueEnd);
        break;
      case "end":
        end = from.toString("latin1", value, valueEnd);
        break;
      case "type":
        isOther = true;
    }
  };

  return {
    get groups() {
      return groups.size;
    },
    add(bytes, lineStart, lineEnd) {
      from = bytes as Buffer<ArrayBuffer>;
      values.fill("");
      starts.fill(0);
      counters = 0;
      isOther = false;
      start = end = "";
      forEachField(bytes, lineStart, lineEnd, visit);
      if (isOther || counters === 0) return "other";
      let key = "";
      for (let i = 0; i < values.length; i++) if (values[i] !== "") key += `${names[i]}${values[i]}`;
      let group = groups.get(key);
      if (group === undefined) {
        if (groups.size >= maxGroups) return "full";
        group = { sums: createSums(), records: 0, start, end };
        groups.set(key, group);
      }
      group.records++;
      // No counter is at the beginning of a line.
      for (let i = 0; i < starts.length; i++) {
        if (starts[i] !== 0) group.sums.add(i, bytes, starts[i] as number, ends[i] as number);
      }
      if (group.start === "" || (start !== "" && isEarlier(start, group.start))) group.start = start;
      if (group.end === "" || (end !== "" && isEarlier(group.end, end))) group.end = end;
      return "added";
    },
    take(time) {
      const taken = groups;
      groups = new Map();
      return linesOf(taken, time);
    },
  };
}

function* linesOf(groups: ReadonlyMap<string, Group>, time: string): Iterable<string> {
  for (const [key, { sums, records, start, end }] of groups) {
    let line = `{"@timestamp":"${time}","flow.record.type":"rollup"${key}`;
    if (start !== "") line += `,"flow.start.timestamp":${start}`;
    if (end !== "") line += `,"flow.end.timestamp":${end}`;
    for (let i = 0; i < summedFields.length; i++) {
      const sum = sums.text(i);
      if (sum !== undefined) line += `,"${summedFields[i]}":${sum}`;
    }
    yield `${line},"flow.rollup.records":${records}}\n`;
  }
}

/** Whether a time is before another one: in UTC, with decimals or without, each in quotes. */
function isEarlier(one: string, other: string): boolean {
  // Without the Z, which is above the point and all digits.
  return one.slice(0, -2) < other.slice(0, -2);
}

interface NamedUse {
  readonly key: Buffer;
  readonly use: Use;
}

/** By the length of the name with its quotes and colon. */
function usesByLength(fields: readonly string[]): readonly (readonly NamedUse[])[] {
  const all: readonly (readonly [string, Use])[] = [
    ...fields.map((name, index) => [name, { kind: "group", index }] as const),
    ...summedFields.map((name, index) => [name, { kind: "sum", index }] as const),
    ["flow.start.timestamp", { kind: "start" }],
    ["flow.end.timestamp", { kind: "end" }],
    ["flow.record.type", { kind: "type" }],
  ];
  const byLength: NamedUse[][] = [];
  for (const [name, use] of all) {
    const key = fieldKey(name);
    while (byLength.length <= key.length) byLength.push([]);
    byLength[key.length]?.push({ key, use });
  }
  return byLength;
}

function useOf(uses: readonly (readonly NamedUse[])[], from: Buffer, name: number, value: number): Use | undefined {
  const candidates = uses[value - name];
  if (candidates === undefined) return undefined;
  for (let i = 0; i < candidates.length; i++) {
    const { key, use } = candidates[i] as NamedUse;
    // Names differ at their ends more often than at their beginnings.
    let at = key.length - 1;
    while (at >= 0 && key[at] === from[name + at]) at--;
    if (at < 0) return use;
  }
  return undefined;
}
