import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callApi, type ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Failure, Shown } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import type { ApplyReport, DefinitionsAnswer } from "./device.ts";

export const definitionsCall: ApiCall = { path: "api/v1/snmp/definitions" };

/** Reading thousands of files takes a while. */
const applyMs = 120_000;

export interface ApplyDefinitionsProps {
  readonly onClose: () => void;
  readonly changed: () => void;
}

/** What applying the definitions would do, then doing it. */
export function ApplyDefinitions({ onClose, changed }: ApplyDefinitionsProps): JSX.Element {
  const preview = useCall<DefinitionsAnswer>(definitionsCall, { timeoutMs: applyMs });
  const [force, setForce] = useState(false);
  const [done, setDone] = useState<ApplyReport | undefined>(undefined);
  const action = useAction();
  const apply = async (): Promise<void> => {
    await action.run(async () => {
      const path = `api/v1/snmp/apply-definitions${force ? "?force_rediscovery=true" : ""}`;
      setDone(await callApi<ApplyReport>({ method: "POST", path }, { timeoutMs: applyMs }));
    });
    changed();
  };
  return (
    <Dialog title="Apply SNMP definitions" onClose={onClose} isWide>
      {done !== undefined && (
        <div role="status">
          <p class="state good">
            <strong>Applied.</strong> Revision {done.revision.slice(0, 12)} is in use.
          </p>
          <Report report={done} isDone />
        </div>
      )}
      {done === undefined && (
        <Shown of={preview} what="Reading the definition files">
          {(answer) =>
            answer.enabled && (
              <>
                <Preview answer={answer} />
                {answer.report !== undefined && (
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={force}
                      onChange={(event) => setForce(event.currentTarget.checked)}
                    />{" "}
                    Discover devices again whose definitions have changed
                  </label>
                )}
                {action.failure !== undefined && <Failure failure={action.failure} />}
                <div class="dialog-actions">
                  <button type="button" class="button" onClick={preview.reload}>
                    Read the files again
                  </button>
                  <ActionButton
                    needs="admin"
                    area="snmp"
                    kind="primary"
                    lack={answer.ok ? undefined : "The files have errors: mend them first."}
                    onAction={apply}
                  >
                    {action.isBusy ? "Applying …" : "Apply"}
                  </ActionButton>
                </div>
              </>
            )
          }
        </Shown>
      )}
    </Dialog>
  );
}

function Preview({ answer }: { readonly answer: DefinitionsAnswer }): JSX.Element {
  const { findings = [], report, inUse } = answer;
  return (
    <>
      {inUse !== undefined && (
        <p class="note">
          In use: revision {inUse.revision.slice(0, 12)} with {inUse.devices} devices.
        </p>
      )}
      {!answer.ok && (
        <>
          <p class="state failure">
            <strong>
              The files have {findings.length === 1 ? "an error" : `${findings.length} errors`}: nothing can be applied.
            </strong>{" "}
            What is in use stays.
          </p>
          <DataTable
            caption="What is wrong with the files"
            rows={findings}
            keyOf={({ place, id, message }) => `${place} ${id} ${message}`}
            columns={[
              { name: "Place", cell: ({ place }) => <code>{place}</code>, className: "wrap" },
              { name: "Definition", cell: ({ id }) => id },
              { name: "What is wrong", cell: ({ message }) => message, className: "wrap" },
            ]}
          />
        </>
      )}
      {report !== undefined && <Report report={report} />}
    </>
  );
}

/** Names that are listed of each kind of change. */
const maxNames = 50;

function Report({ report, isDone = false }: { readonly report: ApplyReport; readonly isDone?: boolean }): JSX.Element {
  const kinds = Object.entries(report.changes);
  const names = (all: readonly string[]): string =>
    all.length > maxNames ? `${all.slice(0, maxNames).join(", ")} and ${all.length - maxNames} more` : all.join(", ");
  return (
    <>
      {kinds.length === 0 ? (
        <p>The files say what is in use: nothing {isDone ? "has changed" : "would change"}.</p>
      ) : (
        <ul class="diff">
          {kinds.flatMap(([kind, { added, changed, removed }]) => [
            ...(added.length > 0
              ? [
                  <li class="added">
                    + {kind.replaceAll("_", " ")}: {names(added)}
                  </li>,
                ]
              : []),
            ...(changed.length > 0
              ? [
                  <li class="changed">
                    ~ {kind.replaceAll("_", " ")}: {names(changed)}
                  </li>,
                ]
              : []),
            ...(removed.length > 0
              ? [
                  <li class="removed">
                    − {kind.replaceAll("_", " ")}: {names(removed)}
                  </li>,
                ]
              : []),
          ])}
        </ul>
      )}
      {kinds.length > 0 && (
        <p>
          {report.affected_devices.length} devices {isDone ? "use" : "would use"} other definitions;{" "}
          {report.rediscovering.length} {isDone ? "are" : "would be"} discovered again
          {report.pending.length > 0 && `; for ${report.pending.length} something waits until their next discovery`}.
        </p>
      )}
      {report.warnings.length > 0 && (
        <details class="more">
          <summary>{report.warnings.length} warnings</summary>
          <ul>
            {report.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
