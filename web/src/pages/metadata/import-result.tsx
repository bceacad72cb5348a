import type { JSX } from "preact";
import { formatWhole } from "../../format/numbers.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { ChangeList } from "./change-list.tsx";
import type { ImportAnswer } from "./import-answer.ts";

export interface ImportResultProps {
  readonly answer: ImportAnswer;
  readonly skipsFaulty: boolean;
  readonly isBusy: boolean;
  /** Absent: it is done. */
  readonly apply?: () => Promise<void>;
}

/** What an import would do, or has done: counts, faults by row, the difference. */
export function ImportResult({ answer, skipsFaulty, isBusy, apply }: ImportResultProps): JSX.Element {
  const { created = 0, updated = 0, deleted = 0, unchanged = 0, rows = 0, change = 0 } = answer;
  const { faults = [], faultCount = 0, changes = [] } = answer;
  const count = created + updated + deleted;
  const isRefused = faultCount > 0 && !skipsFaulty;
  const lack = isRefused
    ? 'Rows have faults: mend them, or tick "Leave out rows with faults".'
    : count === 0
      ? "Nothing would change."
      : undefined;
  return (
    <div class="import-result" role="status">
      <p class={apply === undefined ? "state good" : "state"}>
        <strong>
          {apply === undefined
            ? change > 0
              ? `Imported as change ${change}, which can be undone in the history.`
              : "Nothing was to be changed."
            : `${formatWhole(count)} entries would change.`}
        </strong>{" "}
        {formatWhole(rows)} rows: {formatWhole(created)} new, {formatWhole(updated)} changed, {formatWhole(deleted)}{" "}
        deleted, {formatWhole(unchanged)} as they are.
      </p>
      {faultCount > 0 && (
        <>
          <h3 class="sub">
            {formatWhole(faultCount)} {faultCount === 1 ? "fault" : "faults"}
            {skipsFaulty ? ": these rows are left out" : ""}
          </h3>
          <DataTable
            caption="Rows with faults"
            rows={faults.slice(0, 200).map((fault, at) => ({ fault, at }))}
            keyOf={({ at }) => String(at)}
            columns={[
              { name: "Row", cell: ({ fault: { row = 0 } }) => (row === 0 ? "–" : row), isNumber: true },
              { name: "Column", cell: ({ fault: { column = "", field = "" } }) => (column === "" ? field : column) },
              { name: "Reason", cell: ({ fault }) => fault.reason, className: "wrap" },
            ]}
          />
          {faultCount > 200 && <p class="note">… and {formatWhole(faultCount - 200)} more</p>}
        </>
      )}
      {changes.length > 0 && (
        <>
          <h3 class="sub">Difference</h3>
          <ChangeList changes={changes} count={count} />
        </>
      )}
      {apply !== undefined && (
        <div class="dialog-actions">
          <ActionButton needs="editor" area="metadata" kind="primary" lack={lack} onAction={apply}>
            {isBusy ? "Importing …" : `Import ${formatWhole(count)} changes`}
          </ActionButton>
        </div>
      )}
    </div>
  );
}
