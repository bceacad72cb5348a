import type { ViewDescription } from "../../api/index.ts";
import type { DeliveryState } from "../../output/index.ts";
import type { Check } from "../../report/index.ts";
import type { DeliveringOutput } from "../threads/delivering-output.ts";

interface OutputView extends Partial<Omit<DeliveryState, "name" | "state">> {
  readonly name: string;
  readonly state: DeliveryState["state"] | "restarting";
}

/** What `GET /api/v1/outputs` answers: all outputs that are on, those to files and pipes by their readiness. */
export async function outputsView(
  stores: readonly DeliveringOutput[],
  checks: readonly Check[],
): Promise<{ readonly outputs: readonly OutputView[] }> {
  const states = await Promise.all(
    stores.map(async (store) => (await store.state()) ?? { name: nameOf(store.name), state: "restarting" as const }),
  );
  const known = new Set(states.map(({ name }) => name));
  const others = checks
    .filter(({ name }) => name.startsWith(prefix) && !known.has(nameOf(name)))
    .map(({ name, ready, degraded, detail = "" }): OutputView => {
      const isWorking = ready && degraded !== true;
      return isWorking
        ? { name: nameOf(name), state: "working" }
        : { name: nameOf(name), state: "failing", fault: detail };
    });
  return { outputs: [...others, ...states] };
}

const prefix = "output ";
const nameOf = (check: string): string => check.slice(prefix.length);

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
            queueBytes: integer("Bytes in memory, what is being sent included."),
            waitingRecords: integer("Records in batches that are not delivered: in memory, on disk and being sent."),
            oldestAt: integer("When the oldest of them arrived, milliseconds since the epoch."),
            spoolMode: { enum: ["off", "overflow", "always"] },
            spoolBytes: integer("Bytes that the spool has on disk."),
            spoolMaxBytes: integer("Bytes that it may have; 0 without one."),
            inFlight: integer("Batches that are being sent."),
            deliveredRecords: integer("Records that the store acknowledged, in this run."),
            retriedRecords: integer("Records that had to be sent again, in this run."),
            refusedRecords: integer("Records that the store will never take, in this run."),
            droppedRecords: integer("Records that were lost behind the queue, in this run."),
          },
        },
      },
    },
  },
};
