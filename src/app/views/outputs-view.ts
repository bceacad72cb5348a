import type { FamilyReading, Check, Clock, Metrics } from "../../base/report/index.ts";
import type { CollectorAnswer, Operation } from "../../server/index.ts";
import type { DropReason } from "../../output/index.ts";
import type { Settings } from "../settings/index.ts";
import type { DeliveringOutput } from "../threads/delivering-output.ts";
import { storeOutput } from "../outputs/store-outputs.ts";
import { testOutput } from "../outputs/test-output.ts";

/** The counts of an output in this run. */
type OutputCounts = Pick<OutputView, "deliveredRecords" | "droppedRecords" | "drops" | "queueBytes">;

/**
 * Returns the counts of each output by its name, from the metrics: only these include records lost before the output's thread.
 *
 * @param families all of the collector.
 */
function outputCounts(families: readonly FamilyReading[]): (output: string) => OutputCounts | undefined {
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
      output === name && records > 0 ? [{ reason: reason as DropReason, records }] : [],
    );
    return {
      deliveredRecords,
      droppedRecords: drops.reduce((sum, { records }) => sum + records, 0),
      drops,
      queueBytes: queued.get(name) ?? 0,
    };
  };
}

type OutputsView = CollectorAnswer<"listOutputs">;
export type OutputView = OutputsView["outputs"][number];

/** Answers `GET /api/v1/outputs`: all enabled outputs, those to files and pipes with their readiness and counts. */
export async function outputsView(
  stores: readonly DeliveringOutput[],
  checks: readonly Check[],
  metrics: Pick<Metrics, "everything">,
): Promise<OutputsView> {
  const countsOf = outputCounts(await metrics.everything());
  const states = await Promise.all(stores.map((store) => storeView(store, countsOf)));
  const known = new Set(states.map(({ name }) => name));
  const others = checks.filter(({ name }) => name.startsWith(prefix) && !known.has(nameOf(name)));
  return { outputs: [...others.map((check) => fileView(check, countsOf)), ...states] };
}

type CountsOf = ReturnType<typeof outputCounts>;

async function storeView(store: DeliveringOutput, countsOf: CountsOf): Promise<OutputView> {
  const state = (await store.state()) ?? { name: nameOf(store.name), state: "restarting" as const };
  const counts = countsOf(state.name);
  // The thread's answer is newer for all other counts.
  const lost = counts && { droppedRecords: counts.droppedRecords, drops: counts.drops };
  return { ...state, ...lost, canTest: true };
}

function fileView({ name: check, ready, degraded, detail = "" }: Check, countsOf: CountsOf): OutputView {
  const name = nameOf(check);
  const isWorking = ready && degraded !== true;
  const state = isWorking ? { state: "working" as const } : { state: "failing" as const, fault: detail };
  return { name, ...state, ...countsOf(name) };
}

const prefix = "output ";
const nameOf = (check: string): string => check.slice(prefix.length);

/** Serves `POST /api/v1/outputs/<name>/test`, like `netgloss output test`. */
export function outputTestOperation(settings: Settings, clock: Clock): Operation {
  return {
    summary: "Sends one record to an output to a store, also to one that is off",
    role: "editor",
    area: "collector",
    schema: {
      type: "object",
      required: ["ok", "steps", "warnings", "ms"],
      properties: {
        ok: { type: "boolean" },
        steps: { type: "array", items: { enum: ["connected", "acknowledged"] }, description: "How far it came." },
        warnings: { type: "array", items: { type: "string" } },
        fault: { type: "string", description: "What is wrong, in the words of the store where it has some." },
        ms: integer("How long it took, milliseconds."),
      },
    },
    async run(name) {
      const output = storeOutput(name, settings);
      return output && testOutput(output, clock);
    },
  };
}

/** Serves `POST /api/v1/outputs/<name>/resend`, like `netgloss output resend`. */
export function outputResendOperation(stores: readonly DeliveringOutput[]): Operation {
  return {
    summary: "Begins to send the dead letters of an output again: records that its store refused",
    role: "editor",
    area: "collector",
    schema: {
      type: "object",
      required: ["records"],
      properties: { records: integer("How many there are; what is refused again becomes a dead letter again.") },
    },
    async run(name) {
      const store = stores.find((one) => nameOf(one.name) === name);
      return store && { records: (await store.resend()) ?? 0 };
    },
  };
}

const integer = (description: string): Operation["schema"] => ({ type: "integer", description });
