import type { FamilyReading, Check, Clock, Metrics } from "../../base/report/index.ts";
import type { Operation, ViewDescription } from "../../server/index.ts";
import { dropReasons, type DeliveryState } from "../../output/index.ts";
import type { Settings } from "../settings/index.ts";
import type { DeliveringOutput } from "../threads/delivering-output.ts";
import { storeOutput } from "./store-outputs.ts";
import { testOutput } from "./test-output.ts";

/** What an output has counted in this run. */
interface OutputCounts {
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

/** What is shown of one output. */
export interface OutputView extends Partial<Omit<DeliveryState, "name" | "state">>, Partial<OutputCounts> {
  readonly name: string;
  /** Whether a test can be asked for. */
  readonly canTest?: true;
  readonly state: DeliveryState["state"] | "restarting";
}

/** What `GET /api/v1/outputs` answers: all outputs that are on, those to files and pipes by their readiness and their counts. */
export async function outputsView(
  stores: readonly DeliveringOutput[],
  checks: readonly Check[],
  metrics: Pick<Metrics, "everything">,
): Promise<{ readonly outputs: readonly OutputView[] }> {
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
  // What its thread says of the rest is newer.
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

/** `POST /api/v1/outputs/<name>/test`: what `netgloss output test` does. */
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

/** `POST /api/v1/outputs/<name>/resend`: what `netgloss output resend` does. */
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

const integer = (description: string): ViewDescription["schema"] => ({ type: "integer", description });

export const outputsDescription: ViewDescription = {
  summary: "Where records go, and what waits",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["outputs"],
    properties: {
      outputs: {
        type: "array",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["name", "state"],
          properties: {
            name: { type: "string", examples: ["file", "http"] },
            state: {
              enum: ["connecting", "working", "failing", "restarting"],
              description: "Connecting: the store has not answered yet. Restarting: the output's thread died.",
            },
            fault: { type: "string", description: "What is wrong." },
            faultSince: integer("Since when, milliseconds since the epoch."),
            blame: {
              enum: ["operator", "store"],
              description: "Who mends what is wrong with the store: somebody, or it passes by itself.",
            },
            queueBytes: integer("Bytes in memory, what is being sent included."),
            waitingRecords: integer("Records in batches that are not delivered: in memory, on disk and being sent."),
            oldestAt: integer("When the oldest of them arrived, milliseconds since the epoch."),
            spoolMode: { enum: ["off", "overflow", "always"] },
            spoolBytes: integer("Bytes that the spool has on disk."),
            spoolMaxBytes: integer("Bytes that it may have; 0 without one."),
            inFlight: integer("Batches that are being sent."),
            deliveredRecords: integer("Records that the store acknowledged, or that were written, in this run."),
            retriedRecords: integer("Records that had to be sent again, in this run."),
            refusedRecords: integer("Records that the store will never take, in this run."),
            droppedRecords: integer("Records that were lost, in this run."),
            drops: {
              type: "array",
              description: "Why they were lost.",
              items: {
                type: "object",
                properties: {
                  reason: { enum: dropReasons, description: "As `netgloss_output_dropped_records_total` has it." },
                  records: integer("In this run."),
                },
              },
            },
            latency: {
              type: "object",
              description: "How long the last 64 requests took, milliseconds.",
              properties: { medianMs: { type: "number" }, slowestMs: { type: "number" } },
            },
            refusals: {
              type: "array",
              description: "The last reasons for refusals in the words of the store, the newest first.",
              items: {
                type: "object",
                properties: {
                  reason: { type: "string" },
                  records: integer("In this run."),
                  at: integer("When last, milliseconds since the epoch."),
                },
              },
            },
            deadLetters: {
              type: "object",
              description: "Refused records that are kept, and can be sent again; absent without a state directory.",
              properties: {
                records: integer("How many."),
                bytes: integer("Of their files."),
                isResending: { type: "boolean", description: "Whether they are being sent again." },
                reasons: {
                  type: "array",
                  description: "Why they were refused, the most frequent first.",
                  items: {
                    type: "object",
                    properties: {
                      reason: {
                        type: "string",
                        description: "In the words of the store, without what it says of single records.",
                      },
                      records: integer("How many."),
                      firstAt: integer("When the first was refused, milliseconds since the epoch."),
                      at: integer("When the last was."),
                    },
                  },
                },
              },
            },
            canTest: { type: "boolean", description: "Whether it can be tested: it is an output to a store." },
          },
        },
      },
    },
  },
};
