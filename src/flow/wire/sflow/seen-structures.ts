import { flowFormats, flowRecordLayouts } from "./flow-record-layouts.ts";

/** The structures of a sample so far, by groups: those of a group have names in common, so that only the first can be fields. */
export interface SeenStructures {
  /** Begins a sample. */
  begin(): void;
  /**
   * Notes a structure.
   *
   * @param group of {@link groupOf}.
   * @returns `first` of its group, `again` when the first was the same byte for byte, else `other`.
   */
  note(group: number, key: number, bytes: Buffer, at: number, end: number): "first" | "again" | "other";
}

/** Numbers of groups, by format. */
const groups: ReadonlyMap<number, number> = groupByNames();

/** The number of the group of a known format. */
export function groupOf(key: number): number {
  return groups.get(key) ?? 0;
}

function groupByNames(): Map<number, number> {
  const { ethernet, ipv4, ipv6, gateway } = flowFormats;
  const found = new Map<number, number>([
    [ethernet, 1],
    [ipv4, 2],
    [ipv6, 2],
    [gateway, 3],
  ]);
  let next = 4;
  const byName = new Map<string, number>();
  for (const [key, layout] of flowRecordLayouts) {
    const group = layout.map(([name]) => byName.get(name)).find((known) => known !== undefined) ?? next++;
    found.set(key, group);
    for (const [name] of layout) byName.set(name, group);
  }
  return found;
}

export function createSeenStructures(): SeenStructures {
  const size = 1 + Math.max(...groups.values());
  /** Of each group: the sample that had it last, its format and place there. */
  const samples = new Float64Array(size);
  const keys = new Float64Array(size);
  const starts = new Int32Array(size);
  const ends = new Int32Array(size);
  let sample = 0;
  return {
    begin: () => void sample++,
    note(group, key, bytes, at, end) {
      if (samples[group] !== sample) {
        samples[group] = sample;
        keys[group] = key;
        starts[group] = at;
        ends[group] = end;
        return "first";
      }
      return keys[group] === key && bytes.compare(bytes, starts[group], ends[group], at, end) === 0 ? "again" : "other";
    },
  };
}
