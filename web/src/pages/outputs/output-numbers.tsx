import type { JSX } from "preact";
import { formatNumber, formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import type { OutputState } from "./output-state.ts";

/** Why records are lost, as the end of a sentence. */
const dropCauses: Readonly<Record<string, string>> = {
  queue_full: "the queue in memory was full",
  closed: "the reader was gone",
  stopped: "the collector stopped before they were written",
  spool_full: "the spool on disk was full",
  spool_damaged: "the spool on disk was damaged",
  thread_died: "the thread of the output ended",
};

type Fact = readonly [label: string, value: string, isBad?: boolean];

/** What an output has delivered and lost, and what waits; those numbers that this kind of output has. */
export function OutputNumbers({ output, now }: { readonly output: OutputState; readonly now: number }): JSX.Element {
  const { drops = [], spoolMode } = output;
  const facts = [...waiting(output, now), ...counts(output)];
  return (
    <>
      <dl class="numbers">
        {facts.map(([label, value, isBad = false]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class={isBad ? "fault" : ""}>{value}</dd>
          </div>
        ))}
      </dl>
      {drops.map(({ reason, records }) => (
        <p key={reason} class="fault">
          {formatWhole(records)} records are lost: {dropCauses[reason] ?? reason}.
          {reason === "queue_full" && spoolMode === "off" && (
            <>
              {" "}
              A spool on disk keeps records while the store is away: set <code>SPOOL_MODE</code> of this output.
            </>
          )}
        </p>
      ))}
    </>
  );
}

function waiting(output: OutputState, now: number): readonly Fact[] {
  const { queueBytes, waitingRecords, oldestAt, spoolMode, spoolBytes, spoolMaxBytes, inFlight, latency } = output;
  const facts: Fact[] = [];
  if (waitingRecords !== undefined) {
    facts.push(["Waiting", `${formatWhole(waitingRecords)} records`]);
    facts.push(["Oldest that waits", oldestAt === undefined ? "none" : formatAge(oldestAt, now)]);
  }
  if (queueBytes !== undefined) facts.push(["Queue in memory", formatNumber(queueBytes, "B")]);
  if (spoolMode !== undefined) {
    const used = `${formatNumber(spoolBytes, "B")} of ${formatNumber(spoolMaxBytes, "B")} (${spoolMode})`;
    facts.push(["Spool on disk", spoolMode === "off" ? "off" : used]);
  }
  if (inFlight !== undefined) {
    facts.push(["Requests under way", formatWhole(inFlight)]);
    const [median, slowest] = [latency?.medianMs, latency?.slowestMs].map((ms = 0) =>
      formatNumber(ms / 1000, "seconds"),
    );
    facts.push(["Latency", latency === undefined ? "no request yet" : `${median}, slowest ${slowest}`]);
  }
  return facts;
}

function counts({
  deliveredRecords,
  retriedRecords,
  refusedRecords,
  droppedRecords,
  canTest,
}: OutputState): readonly Fact[] {
  const facts: Fact[] = [];
  const add = (label: string, records: number | undefined, isFault = false): void => {
    if (records !== undefined) facts.push([label, `${formatWhole(records)} records`, isFault && records > 0]);
  };
  add(canTest === true ? "Delivered" : "Written", deliveredRecords);
  add("Sent again", retriedRecords);
  add("Refused", refusedRecords, true);
  add("Dropped", droppedRecords, true);
  return facts;
}
