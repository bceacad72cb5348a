import type { DiagnoseAnswer, ListOutputsAnswer } from "../../api/answers.gen.ts";
import { formatAge } from "../../format/times.ts";
import { formatNumber } from "../../format/numbers.ts";
import { refusedNow } from "../../api/refusals.ts";
import type { PagePath } from "../../navigation/page-paths.ts";
import type { ReadyAnswer } from "./overview-answers.ts";

/** Something that is wrong, and the page that explains it. */
export interface Trouble {
  readonly id: string;
  readonly state: "bad" | "warn";
  readonly sentence: string;
  readonly advice?: string;
  readonly page: PagePath;
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** An output is behind when a record has waited longer, milliseconds. */
const behindMs = 60_000;

type Output = ListOutputsAnswer["outputs"][number];

/** Whether records wait too long at an output. */
export function isBehind({ state, oldestAt }: Output, now: number): boolean {
  return state === "failing" || state === "restarting" || (oldestAt !== undefined && now - oldestAt > behindMs);
}

/** All that is wrong, the worst first; each thing once. */
export function findTrouble(
  found: {
    readonly diagnosis: Pick<DiagnoseAnswer, "exporters" | "diagnoses"> | undefined;
    readonly ready: ReadyAnswer | undefined;
    readonly outputs: ListOutputsAnswer | undefined;
  },
  now: number,
): readonly Trouble[] {
  const doctor = (found.diagnosis?.diagnoses ?? [])
    // An exporter that fell silent stands with what is wrong in the network.
    .filter(({ id, severity }) => severity !== "note" && id !== "silent")
    .map(({ id, severity, exporter, sentence, advice }): Trouble => ({
      id: `${id} ${exporter ?? ""}`,
      state: severity === "problem" ? "bad" : "warn",
      sentence,
      advice,
      page: "exporters",
      query: exporter === undefined ? undefined : { exporter },
    }));
  const outputs = (found.outputs?.outputs ?? []).filter((output) => isBehind(output, now));
  const behind = outputs.map((output): Trouble => ({
    id: `output ${output.name}`,
    state: output.state === "working" ? "warn" : "bad",
    sentence: `The output ${output.name} ${outputText(output, now)}.`,
    page: "outputs",
  }));
  const refusing = (found.outputs?.outputs ?? []).flatMap(({ name, refusals }): Trouble[] => {
    const refusal = refusedNow(refusals, now);
    if (refusal === undefined) return [];
    return [
      {
        id: `refused ${name}`,
        state: "bad",
        sentence: `The store of the output ${name} refuses records: ${refusal.reason}.`,
        page: "outputs",
      },
    ];
  });
  const listed = new Set(outputs.map(({ name }) => `output ${name}`));
  const checks = (found.ready?.checks ?? [])
    .filter(({ name, ready, degraded = false }) => (!ready || degraded) && !listed.has(name))
    .map(({ name, ready, detail }): Trouble => ({
      id: `check ${name}`,
      state: ready ? "warn" : "bad",
      sentence: `${name}: ${detail ?? (ready ? "not all of it works" : "not ready")}`,
      page: pageOfCheck(name),
    }));
  return [...checks, ...behind, ...refusing, ...doctor].toSorted((one, other) => rank(one) - rank(other));
}

function outputText({ state, fault, waitingRecords, oldestAt }: Output, now: number): string {
  const waits =
    oldestAt === undefined
      ? ""
      : `; ${formatNumber(waitingRecords, "records")} wait, the oldest came ${formatAge(oldestAt, now)}`;
  if (state === "working") return `is behind${waits}`;
  return `is ${state}${fault === undefined || fault === "" ? "" : `: ${fault}`}${waits}`;
}

function pageOfCheck(name: string): PagePath {
  if (name.startsWith("output")) return "outputs";
  if (name.startsWith("metadata")) return "metadata";
  if (name.startsWith("snmp")) return "devices";
  return name.startsWith("flow") ? "exporters" : "settings";
}

const rank = ({ state }: Trouble): number => (state === "bad" ? 0 : 1);
