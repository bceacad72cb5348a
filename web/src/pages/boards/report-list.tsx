import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ReportPreviewAnswer, ReportsAnswer, SavedViewsAnswer } from "../../api/answers.gen.ts";
import {
  deleteReport,
  previewReport,
  reportsCall,
  sendReport,
  type NewReport,
  type Report,
  type ReportState,
} from "../../api/reports.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { formatTime } from "../../format/times.ts";
import { shownZone } from "../../format/zone.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ReportDialog } from "./report-dialog.tsx";

export interface ReportListProps {
  readonly saved: SavedViewsAnswer;
  readonly turn: number;
  readonly onChanged: () => void;
}

/** Boards that are sent at set times: when, to whom, what became of the last one. */
export function ReportList({ saved, turn, onChanged }: ReportListProps): JSX.Element {
  const [edited, setEdited] = useState<NewReport | Report | undefined>(undefined);
  const [preview, setPreview] = useState<ReportPreviewAnswer | undefined>(undefined);
  const states = useTurnedCall<ReportsAnswer>(reportsCall, turn);
  const action = useAction();
  const stateOf = (id: string): ReportState | undefined => states.answer?.reports.find((one) => one.id === id);
  const actions = states.answer?.actions ?? [];
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    if (await action.run(async () => void (await work()))) onChanged();
  };
  const columns: readonly Column<Report>[] = [
    {
      name: "Name",
      cell: (report) => (
        <>
          {report.name} <span class="note">{report.description}</span>
        </>
      ),
      sortBy: ({ name }) => name,
      className: "wrap",
    },
    { name: "When", cell: ({ schedule, zone }) => `${schedule}, ${zone}`, className: "wrap" },
    { name: "To", cell: (report) => report.actions.join(", "), isMinor: true },
    { name: "Next", cell: ({ id }) => nextText(stateOf(id)) },
    { name: "Last", cell: ({ id }) => <Last state={stateOf(id)} />, className: "wrap" },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (report) => (
        <span class="row-actions">
          <ActionButton
            needs="viewer"
            area="flow"
            onAction={async () => {
              await action.run(async () => setPreview(await previewReport(report.id)));
            }}
          >
            Preview<span class="hidden"> {report.name}</span>
          </ActionButton>
          <ActionButton needs="editor" area="flow" onAction={() => act(() => sendReport(report.id))}>
            Send now<span class="hidden">: {report.name}</span>
          </ActionButton>
          <ActionButton needs="editor" area="flow" onAction={() => setEdited(report)}>
            Change …<span class="hidden"> {report.name}</span>
          </ActionButton>
          <ActionButton needs="editor" area="flow" onAction={() => act(() => deleteReport(report))}>
            Delete<span class="hidden"> the report {report.name}</span>
          </ActionButton>
        </span>
      ),
    },
  ];
  return (
    <Section
      title="Reports"
      actions={
        <ActionButton
          needs="editor"
          area="flow"
          lack={
            saved.boards.length === 0
              ? "There is no board to send yet."
              : actions.length === 0
                ? "No action of the file of rules (SVC_WATCH_RULES_PATH) is mail or a webhook."
                : undefined
          }
          onAction={() => setEdited(newReport(saved.boards[0]?.id ?? "", actions[0] ?? ""))}
        >
          New report …
        </ActionButton>
      }
    >
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {saved.reports.length === 0 ? (
        <Empty title="There is no report yet">
          A report is a board that is sent by mail or to a webhook at set times.
        </Empty>
      ) : (
        <DataTable caption="Reports" rows={saved.reports} keyOf={({ id }) => id} columns={columns} />
      )}
      {edited !== undefined && (
        <ReportDialog
          report={edited}
          boards={saved.boards}
          actions={actions}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            onChanged();
          }}
        />
      )}
      {preview !== undefined && (
        <Dialog title={preview.subject} isWide onClose={() => setPreview(undefined)}>
          <iframe class="report-preview" sandbox="" title={`Report ${preview.subject}`} srcdoc={preview.html} />
          <p class="note">Attached: {preview.files.map(({ name }) => name).join(", ")}.</p>
        </Dialog>
      )}
    </Section>
  );
}

const newReport = (board: string, action: string): NewReport => ({
  name: "",
  description: "",
  role: "viewer",
  board,
  schedule: "daily 07:00",
  zone: shownZone(),
  period: "day",
  actions: [action],
  paused: false,
});

function nextText(state: ReportState | undefined): string {
  if (state === undefined) return "–";
  if (state.fault !== undefined) return `never: ${state.fault}`;
  return state.next === undefined ? "paused" : formatTime(Date.parse(state.next), Date.now());
}

function Last({ state }: { readonly state: ReportState | undefined }): JSX.Element {
  const last = state?.runs[0];
  if (last === undefined) return <>–</>;
  const fault = last.fault ?? last.deliveries.find((one) => one.fault !== undefined)?.fault;
  return (
    <>
      {last.state} {formatTime(Date.parse(last.due), Date.now())}
      {fault !== undefined && <span class="note"> {fault}</span>}
    </>
  );
}
