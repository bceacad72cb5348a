import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callApi, type ApiCall } from "../../api/call.ts";
import type { EntryChange } from "../../api/entries.ts";
import { useCall } from "../../api/use-call.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { formatWhole } from "../../format/numbers.ts";
import { formatAge, formatTime } from "../../format/times.ts";
import { useQueryState } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { ChangeList } from "./change-list.tsx";
import { historyCall, type Change, type ChangesAnswer } from "./history-call.ts";
import { UndoDialog } from "./undo-dialog.tsx";

export interface HistoryViewProps {
  readonly turn: number;
  readonly changed: (what: string) => void;
}

/** Who changed what and when; each change can be looked at and undone. */
export function HistoryView({ turn, changed }: HistoryViewProps): JSX.Element {
  const [query, setQuery] = useQueryState();
  const key = query.get("key") ?? "";
  const [more, setMore] = useState<readonly ChangesAnswer[]>([]);
  const first = useTurnedCall<ChangesAnswer>(historyCall(key), turn);
  const [undone, setUndone] = useState<number | undefined>(undefined);
  return (
    <Section title="History" note="the newest change first">
      <div class="bar">
        <label class="field grow">
          Changes of one entry
          <input
            type="search"
            value={key}
            placeholder="its key: 10.1.0.0/16"
            onChange={(event) => {
              setMore([]);
              setQuery({ key: event.currentTarget.value.trim() });
            }}
          />
        </label>
      </div>
      <Shown of={first}>
        {(answer) => {
          const pages = [answer, ...more];
          const next = pages.at(-1)?.nextPageToken ?? "";
          if (answer.off === true) return <HistoryIsOff />;
          return (answer.changes ?? []).length === 0 ? (
            <Empty title="No change is kept">
              {key === ""
                ? "Changes appear here as soon as somebody makes one."
                : "Nobody has changed this entry, as far as the history goes."}
            </Empty>
          ) : (
            <>
              <ol class="history">
                {pages.flatMap(({ changes = [] }, at) =>
                  changes.map((change) => (
                    <ChangeItem
                      key={change.number}
                      change={change}
                      listed={historyCall(key, pages[at - 1]?.nextPageToken)}
                      undo={() => setUndone(change.number)}
                    />
                  )),
                )}
              </ol>
              {next !== "" && (
                <ActionButton
                  needs="viewer"
                  onAction={async () => setMore([...more, await callApi<ChangesAnswer>(historyCall(key, next))])}
                >
                  Earlier changes
                </ActionButton>
              )}
            </>
          );
        }}
      </Shown>
      {undone !== undefined && (
        <UndoDialog
          number={undone}
          onClose={() => setUndone(undefined)}
          changed={(what) => {
            setMore([]);
            changed(what);
          }}
        />
      )}
    </Section>
  );
}

function HistoryIsOff(): JSX.Element {
  return (
    <Empty title="This collector keeps no changes">
      Set <code>SVC_STATE_DIRECTORY_PATH</code>, leave <code>SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE</code>{" "}
      above 0, and start the collector again: changes can be looked at and undone then.
    </Empty>
  );
}

interface ChangeItemProps {
  readonly change: Change;
  /** The call whose answer has the change. */
  readonly listed: ApiCall;
  readonly undo: () => void;
}

function ChangeItem({ change, listed, undo }: ChangeItemProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { number, time, author = "", method = "", entries = 0, cut = false, collector = "" } = change;
  const at = Date.parse(time);
  const now = Date.now();
  return (
    <li>
      <div class="change">
        <strong class="number">{number}</strong>
        <span title={formatTime(at, now)}>{formatAge(at, now)}</span>
        <span>{author === "" ? "somebody" : author}</span>
        <span class="note">{method}</span>
        {collector !== "" && <span class="note">on {collector}</span>}
        <span>
          {formatWhole(entries)} {entries === 1 ? "entry" : "entries"}
        </span>
        <span class="change-actions">
          {!cut && (
            <button type="button" class="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {isOpen ? "Hide" : "Show"}
              <span class="hidden"> change {number}</span>
            </button>
          )}
          <ActionButton
            needs="editor"
            area="metadata"
            lack={cut ? "The change was too big to be kept with its entries: it cannot be undone." : undefined}
            onAction={undo}
          >
            Undo<span class="hidden"> change {number}</span>
          </ActionButton>
        </span>
      </div>
      {isOpen && <Entries number={number} listed={listed} />}
    </li>
  );
}

/** The entries of a change: those of its page are asked for, as changes have no address of their own. */
function Entries({ number, listed }: { readonly number: number; readonly listed: ApiCall }): JSX.Element {
  const { withoutEntries: _withoutEntries, ...body } = listed.body as Record<string, unknown>;
  const found = useCall<{ changes?: readonly (Change & { changes?: readonly EntryChange[] })[] }>({ ...listed, body });
  return (
    <Shown of={found}>
      {({ changes = [] }) => <ChangeList changes={changes.find((one) => one.number === number)?.changes ?? []} />}
    </Shown>
  );
}
