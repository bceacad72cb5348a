import type { CollectorAnswer } from "../../server/index.ts";
import type { Clock, FamilyReading, Metrics } from "../../base/report/index.ts";

type Overview = CollectorAnswer<"getOverview">;
type Unit = Overview["losses"][number]["unit"];

/** A counter of lost data, and its description for people. */
interface LossRow {
  readonly metric: string;
  readonly what: string;
  readonly unit: Unit;
  /** The unit of label values that have a different one. */
  readonly units?: Readonly<Record<string, Unit>>;
  /** The label by whose values losses are listed separately. */
  readonly label?: string;
  /** A counter of data that turned out not to be lost. */
  readonly recovered?: string;
}

/** The unit of the sequence numbers of a protocol; sFlow and NetFlow v9 count datagrams. */
const sequenceUnits: Readonly<Record<string, Unit>> = {
  netflow5: "records",
  netflow7: "records",
  ipfix: "records",
};

/** Losses in the order of a record's way from the network to the outputs. */
const lossRows: readonly LossRow[] = [
  {
    metric: "netgloss_flow_missing_total",
    what: "missing by sequence numbers: lost before they came here",
    unit: "datagrams",
    units: sequenceUnits,
    label: "protocol",
    recovered: "netgloss_flow_recovered_total",
  },
  {
    metric: "netgloss_flow_samples_missing_total",
    what: "sFlow samples missing by their numbers",
    unit: "samples",
    recovered: "netgloss_flow_samples_recovered_total",
  },
  { metric: "netgloss_flow_sampler_drops_total", what: "dropped by sFlow agents, as they say", unit: "samples" },
  { metric: "netgloss_flow_kernel_drops_total", what: "the receive buffer was full", unit: "datagrams", label: "port" },
  {
    metric: "netgloss_flow_queue_drops_total",
    what: "the queue of a decoding thread was full",
    unit: "datagrams",
    label: "reason",
  },
  { metric: "netgloss_flow_thread_lost_datagrams_total", what: "a decoding thread died", unit: "datagrams" },
  { metric: "netgloss_flow_stream_lost_bytes_total", what: "broken messages by TCP or TLS", unit: "bytes" },
  { metric: "netgloss_flow_drops_total", what: "could not be decoded", unit: "units", label: "reason" },
  { metric: "netgloss_flow_lines_dropped_total", what: "the main thread did not keep up", unit: "records" },
  { metric: "netgloss_output_dropped_records_total", what: "lost by an output", unit: "records", label: "output" },
  {
    metric: "netgloss_output_refused_records_total",
    what: "refused by the store, kept as dead letters where there is a state directory",
    unit: "records",
    label: "output",
  },
];

const recordsMetric = "netgloss_flow_records_total";
const datagramsMetric = "netgloss_flow_datagrams_total";

/** The window of rates and recent losses, and the least time between two samples, milliseconds. */
const windowMs = 300_000;
const sampleMs = 2_000;

interface Sample {
  readonly at: number;
  readonly records: number;
  readonly datagrams: number;
  /** Losses by metric and label. */
  readonly losses: ReadonlyMap<string, number>;
}

/**
 * Answers `GET /api/v1/overview`. A request reads the counters, at most every two seconds. Rates and recent losses are computed
 * from the readings of the last five minutes, so the first answer has none.
 */
export function createOverview(metrics: Metrics, clock: Clock): () => Promise<Overview> {
  let samples: readonly Sample[] = [];
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const sample = sampleOf(await metrics.everything(), clock.monotonic());
    samples = [...samples.filter(({ at }) => sample.at - at <= windowMs), sample];
  };

  return async () => {
    const last = samples.at(-1);
    if (last === undefined || clock.monotonic() - last.at >= sampleMs) {
      reading ??= read().finally(() => (reading = undefined));
      await reading;
    }
    return overviewOf(samples, clock.now());
  };
}

function overviewOf(samples: readonly Sample[], now: number): Overview {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error("no reading");
  const seconds = (last.at - first.at) / 1000;
  // Rates cover the last half minute, so that they follow changes.
  const before = samples.findLast(({ at }) => last.at - at >= 30_000) ?? first;
  const rate = (of: "records" | "datagrams"): number | null =>
    before === last ? null : Math.max(0, ((last[of] - before[of]) * 1000) / (last.at - before.at));
  const losses = lossRows.flatMap((row) =>
    Array.from(last.losses)
      .filter(([key, total]) => key.startsWith(`${row.metric} `) && total > 0)
      .map(([key, total]): Overview["losses"][number] => {
        const of = key.slice(row.metric.length + 1);
        const recent = Math.max(0, total - (first.losses.get(key) ?? 0));
        const unit = row.units?.[of] ?? row.unit;
        return { what: row.what, of: of === "" ? undefined : of, metric: row.metric, unit, total, recent };
      }),
  );
  return {
    at: now,
    recentSeconds: seconds,
    recordsTotal: last.records,
    recordsPerSecond: rate("records"),
    datagramsPerSecond: rate("datagrams"),
    losses,
  };
}

function sampleOf(families: readonly FamilyReading[], at: number): Sample {
  const byName = new Map(families.map((family) => [family.name, family]));
  const losses = new Map<string, number>();
  for (const { metric, label, recovered } of lossRows) {
    const found = sums(byName.get(metric), label);
    const back = recovered === undefined ? new Map<string, number>() : sums(byName.get(recovered), label);
    for (const [value, count] of found) losses.set(`${metric} ${value}`, Math.max(0, count - (back.get(value) ?? 0)));
  }
  const total = (name: string): number => [...sums(byName.get(name)).values()].reduce((sum, count) => sum + count, 0);
  return { at, records: total(recordsMetric), datagrams: total(datagramsMetric), losses };
}

/** Returns a counter's sums by the values of a label; by "" without one. */
function sums(family: FamilyReading | undefined, label?: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [labels, count] of family?.samples ?? []) {
    const value = label === undefined ? "" : String(labels[label] ?? "");
    found.set(value, (found.get(value) ?? 0) + count);
  }
  return found;
}
