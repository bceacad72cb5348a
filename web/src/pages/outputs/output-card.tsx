import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callApi, type ApiCall } from "../../api/call.ts";
import { refusedNow } from "../../api/refusals.ts";
import { formatDuration, formatNumber, formatWhole } from "../../format/numbers.ts";
import { formatAge } from "../../format/times.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Failure } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { useAction } from "../../ui/use-action.ts";
import { OutputNumbers } from "./output-numbers.tsx";
import type { DeadLetters, OutputState, OutputTest } from "./output-state.ts";

const badges = { working: "good", connecting: "warn", restarting: "warn", failing: "bad" } as const;
/** A test may wait for the store as long as a delivery does. */
const testMs = 120_000;

export interface OutputCardProps {
  readonly output: OutputState;
  readonly test: ApiCall;
  /** Sends the dead letters again. */
  readonly resend: ApiCall;
  readonly reload: () => void;
}

/** One output: its state, its numbers, why records were refused, a test. */
export function OutputCard({ output, test, resend, reload }: OutputCardProps): JSX.Element {
  const [result, setResult] = useState<OutputTest | undefined>(undefined);
  const action = useAction();
  const run = async (): Promise<void> => {
    setResult(undefined);
    await action.run(async () => setResult(await callApi<OutputTest>(test, { timeoutMs: testMs })));
    reload();
  };
  const now = Date.now();
  const { fault, faultSince, refusals = [] } = output;
  return (
    <Section
      title={output.name}
      note={
        <>
          <Badge state={badges[output.state]}>{output.state}</Badge>{" "}
          {refusedNow(refusals, now) !== undefined && <Badge state="warn">records are refused</Badge>}
        </>
      }
      actions={
        output.canTest === true && (
          <ActionButton needs="editor" area="collector" onAction={run}>
            {action.isBusy ? "Testing …" : "Send a test record"}
          </ActionButton>
        )
      }
    >
      {fault !== undefined && (
        <p class="state failure">
          <strong>{/[.?!]$/.test(fault) ? fault : `${fault}.`}</strong>
          {faultSince !== undefined && (
            <span> For {formatDuration(Math.max(1, Math.round((now - faultSince) / 1000)))}.</span>
          )}
        </p>
      )}
      <OutputNumbers output={output} now={now} />
      <div role="status" aria-live="polite">
        {result !== undefined && <TestResult result={result} name={output.name} />}
      </div>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {refusals.length > 0 && output.deadLetters === undefined && (
        <>
          <h3 class="sub">Refused by the server</h3>
          <DataTable
            caption={`Records refused by ${output.name}`}
            rows={refusals}
            keyOf={({ reason }) => reason}
            columns={[
              { name: "Reason, in the server's words", cell: ({ reason }) => reason, className: "wrap" },
              { name: "Records", cell: ({ records }) => formatWhole(records), isNumber: true },
              { name: "Last", cell: ({ at }) => formatAge(at, now), isNumber: true, isMinor: true },
            ]}
          />
          <p class="note">
            Without <code>SVC_STATE_DIRECTORY_PATH</code> these records are not kept.
          </p>
        </>
      )}
      {output.deadLetters !== undefined && output.deadLetters.records > 0 && (
        <DeadLetterTable name={output.name} letters={output.deadLetters} resend={resend} reload={reload} now={now} />
      )}
    </Section>
  );
}

interface DeadLetterTableProps {
  readonly name: string;
  readonly letters: DeadLetters;
  readonly resend: ApiCall;
  readonly reload: () => void;
  readonly now: number;
}

/** The refused records that are kept, by reason, and how to send them again. */
function DeadLetterTable({ name, letters, resend, reload, now }: DeadLetterTableProps): JSX.Element {
  const action = useAction();
  const run = async (): Promise<void> => {
    await action.run(async () => void (await callApi(resend, {})));
    reload();
  };
  return (
    <>
      <h3 class="sub">Dead letters</h3>
      <DataTable
        caption={`Dead letters of ${name} by reason`}
        rows={letters.reasons}
        keyOf={({ reason }) => reason}
        columns={[
          { name: "Reason", cell: ({ reason }) => reason, className: "wrap" },
          { name: "Records", cell: ({ records }) => formatWhole(records), isNumber: true },
          { name: "First", cell: ({ firstAt }) => formatAge(firstAt, now), isNumber: true, isMinor: true },
          { name: "Last", cell: ({ at }) => formatAge(at, now), isNumber: true, isMinor: true },
        ]}
      />
      <p class="note">
        {formatWhole(letters.records)} records are in <code>output/{name}/dead-letters.ndjson</code> of the state
        directory. Mend the reason before you send them again.
      </p>
      <ActionButton needs="editor" area="collector" onAction={run}>
        {letters.isResending ? "They are being sent again …" : "Send the dead letters again"}
      </ActionButton>
      {action.failure !== undefined && <Failure failure={action.failure} />}
    </>
  );
}

function TestResult({ result, name }: { readonly result: OutputTest; readonly name: string }): JSX.Element {
  const took = formatNumber(result.ms / 1000, "seconds");
  return (
    <div class={result.ok ? "state good" : "state failure"}>
      <strong>
        {result.ok
          ? `${name} took one record and acknowledged it.`
          : `The test of ${name} failed: ${result.fault ?? ""}`}
      </strong>{" "}
      <span>
        {result.ok ? "" : result.steps.includes("connected") ? "It was reached. " : "It was not reached. "}
        After {took}.
      </span>
      {result.warnings.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
    </div>
  );
}
