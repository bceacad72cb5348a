import type { Diagnosis } from "./diagnosis.ts";
import type { Facts, OutputFacts } from "./facts.ts";
import { count, list, number, span } from "./wording.ts";

/** Why records are not where they should go: outputs that are away, full, or refused. */
export function outputFindings(facts: Facts): Diagnosis[] {
  return (facts.outputs ?? []).flatMap((output) =>
    [failing(output, facts), drops(output), refused(output)].flatMap((found) => found ?? []),
  );
}

/** What a store says may end like a sentence. */
const sentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

function failing(output: OutputFacts, { now }: Facts): Diagnosis | undefined {
  const { name, state, fault, faultSince, blame, waitingRecords = 0, spoolMode } = output;
  if (state === "working" || fault === undefined) return undefined;
  const since = faultSince === undefined ? "" : ` for ${span(Math.max(1000, now - faultSince))}`;
  const waiting =
    waitingRecords === 0 ? "" : ` ${count(waitingRecords, "record")} ${waitingRecords === 1 ? "waits" : "wait"}.`;
  return {
    id: "output-failing",
    severity: "problem",
    sentence: `The output ${name} fails${since}: ${sentence(fault)}${waiting}`,
    evidence: { output: name, state, blame, waitingRecords, spoolMode },
    advice:
      blame === "operator"
        ? `Mend what the sentence says at the store or in the settings of this output; nothing is refused meanwhile. \`netgloss output test ${name}\` tries it.`
        : `Look at the store and the way to it; \`netgloss output test ${name}\` tries it. Records wait as docs/delivery.md says, then they are lost.`,
  };
}

/** Why records are lost, as the end of a sentence. */
const causes: Readonly<Record<string, string>> = {
  queue_full: "its queue in memory was full",
  closed: "its reader was gone",
  stopped: "the collector stopped before they were written",
  spool_full: "its spool on disk was full",
  spool_damaged: "its spool on disk was damaged",
  thread_died: "its thread ended",
};

function drops({ name, deliveredRecords = 0, drops: lost = [] }: OutputFacts): Diagnosis | undefined {
  if (lost.length === 0) return undefined;
  const records = lost.reduce((sum, one) => sum + one.records, 0);
  const why = lost.map((one) => `${number(one.records)} because ${causes[one.reason] ?? one.reason}`);
  return {
    id: "output-drops",
    severity: "warning",
    sentence: `The output ${name} has lost ${count(records, "record")}: ${list(why)}.`,
    evidence: { output: name, deliveredRecords, drops: lost },
    advice:
      "If the store was away, give the output a spool (SPOOL_MODE, SPOOL_MAX_SIZE, SVC_STATE_DIRECTORY_PATH); if it is slow, raise REQUESTS_IN_FLIGHT or send it less (FILTER, THIN_RATE, ROLLUP_FIELDS).",
  };
}

function refused({ name, refusedRecords = 0, refusals = [], deadLetters }: OutputFacts): Diagnosis | undefined {
  if (refusedRecords === 0) return undefined;
  const [last] = refusals;
  const reason = last === undefined ? "" : ` The last reason: ${sentence(last.reason)}`;
  return {
    id: "output-refused",
    severity: "warning",
    sentence: `The store of the output ${name} has refused ${count(refusedRecords, "record")}.${reason}`,
    evidence: { output: name, refusedRecords, deadLetters: deadLetters?.records },
    advice:
      deadLetters === undefined
        ? "Mend the reason at the store. Without SVC_STATE_DIRECTORY_PATH refused records are not kept."
        : `Mend the reason at the store, then \`netgloss output resend ${name}\` sends the dead letters again.`,
  };
}
