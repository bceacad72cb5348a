import {
  createLineFilter,
  createThinning,
  cutTime,
  type FieldEdit,
  type Thinning,
  type ThinningOptions,
} from "../output/index.ts";
import { recordFields, type ShapeLines } from "../record/index.ts";
import type { Clock, Metrics } from "../base/report/index.ts";
import { anonymizing } from "./anonymizing.ts";
import type { PlainSettings } from "./settings/index.ts";

const decimals = { s: 0, ms: 3, us: 6 } as const;

const isTime = (type: string): boolean => type === "date" || type === "date_nanos";

/** What happens to the lines of flows before they go to the outputs; undefined: they stay as they are. */
export function flowShape(settings: PlainSettings, metrics: Metrics, clock: Clock): ShapeLines | undefined {
  const thinned = metrics.counter(
    "netgloss_flow_thinned_records_total",
    "Records left out because their exporter sends more than SVC_PROCESSOR_THIN_EXPORTER_RATE; others stand for them.",
  );
  thinned.add(0);
  const maxRate = settings.SVC_PROCESSOR_THIN_EXPORTER_RATE;
  const filter = createLineFilter({
    dropFields: settings.SVC_PROCESSOR_DROP_FIELDS,
    edits: recordEdits(settings),
    thinning: thinningOf(settings, { maxRate, byExporter: true, clock, thinned: (records) => thinned.add(records) }),
  });
  return inTurn(filter, anonymizing(settings, metrics));
}

/** One after the other. */
function inTurn(first: ShapeLines | undefined, second: ShapeLines | undefined): ShapeLines | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return (lines, count) => {
    const shaped = first(lines, count);
    return shaped && second(shaped.lines, shaped.count);
  };
}

/** Undefined without a limit. */
export function thinningOf(
  settings: PlainSettings,
  options: Pick<ThinningOptions, "maxRate" | "byExporter" | "clock" | "thinned">,
): Thinning | undefined {
  if (options.maxRate === 0) return undefined;
  const hasScaledCounters = settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE;
  return createThinning({ ...options, hasScaledCounters, random: Math.random });
}

/** What happens to fields of all records. */
export function recordEdits(settings: PlainSettings): ReadonlyMap<string, FieldEdit> {
  const precision = settings.SVC_PROCESSOR_TIMESTAMP_PRECISION;
  if (precision === "ns") return new Map();
  const edit = cutTime(decimals[precision]);
  return new Map(recordFields.filter(({ type }) => isTime(type)).map(({ name }) => [name, edit]));
}
