import type { FamilyReading } from "../../report/index.ts";

/** What an output has counted in this run. */
export interface OutputCounts {
  /** Written to a file or a pipe, or acknowledged by a store. */
  readonly deliveredRecords: number;
  /** Records that were lost, for whatever reason. */
  readonly droppedRecords: number;
  /** Why they were lost: the reasons that have any. */
  readonly drops: readonly { readonly reason: string; readonly records: number }[];
  /** Bytes that wait in memory. */
  readonly queueBytes: number;
}

/**
 * The counts of each output by its name, from the metrics: there alone is what was lost before it reached the output's thread.
 *
 * @param families all of the collector.
 */
export function outputCounts(families: readonly FamilyReading[]): (output: string) => OutputCounts | undefined {
  const samples = (name: string) => families.flatMap((family) => (family.name === name ? [...family.samples] : []));
  const sumBy = (name: string): ReadonlyMap<string, number> => {
    const sums = new Map<string, number>();
    for (const [{ output }, value] of samples(name)) sums.set(String(output), (sums.get(String(output)) ?? 0) + value);
    return sums;
  };
  const delivered = sumBy("netgloss_output_records_total");
  const queued = sumBy("netgloss_output_queue_bytes");
  const dropped = samples("netgloss_output_dropped_records_total");
  return (name) => {
    const deliveredRecords = delivered.get(name);
    if (deliveredRecords === undefined) return undefined;
    const drops = dropped.flatMap(([{ output, reason }, records]) =>
      output === name && records > 0 ? [{ reason: String(reason), records }] : [],
    );
    return {
      deliveredRecords,
      droppedRecords: drops.reduce((sum, { records }) => sum + records, 0),
      drops,
      queueBytes: queued.get(name) ?? 0,
    };
  };
}
