import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SavedViewsAnswer, ViewChangesAnswer } from "../../api/answers.gen.ts";
import {
  deleteSaved,
  hrefOfBoard,
  hrefOfView,
  viewChangesCall,
  type Board,
  type SavedView,
} from "../../api/saved-views.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { formatTime } from "../../format/times.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure, Shown } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ReportList } from "./report-list.tsx";

export interface BoardListProps {
  readonly saved: SavedViewsAnswer;
  readonly turn: number;
  readonly onNew: () => void;
  /** Something was deleted. */
  readonly onChanged: () => void;
}

/** All boards, reports and views, and who changed what. */
export function BoardList({ saved, turn, onNew, onChanged }: BoardListProps): JSX.Element {
  const action = useAction();
  const remove = async (kind: "view" | "board", item: SavedView | Board): Promise<void> => {
    if (await action.run(async () => void (await deleteSaved(kind, item)))) onChanged();
  };
  const columns = (kind: "view" | "board"): readonly Column<SavedView | Board>[] => [
    {
      name: "Name",
      cell: (item) => (
        <>
          <a href={"views" in item ? hrefOfBoard(item) : hrefOfView(item)}>{item.name}</a>{" "}
          <span class="note">{item.description}</span>
        </>
      ),
      sortBy: ({ name }) => name,
      className: "wrap",
    },
    { name: "Seen by", cell: ({ role }) => role, sortBy: ({ role }) => role, isMinor: true },
    {
      name: "Changed",
      cell: ({ changedBy, changedAt }) => (
        <>
          {formatTime(Date.parse(changedAt), Date.now())} <span class="note">{changedBy}</span>
        </>
      ),
      sortBy: ({ changedAt }) => changedAt,
      isMinor: true,
    },
    { name: "Delete", cell: (item) => <Delete item={item} remove={() => remove(kind, item)} />, isNameHidden: true },
  ];
  return (
    <>
      {!saved.kept && (
        <p class="state">The collector has no state directory (SVC_STATE_DIRECTORY_PATH): a restart forgets these.</p>
      )}
      {saved.problem !== undefined && (
        <p class="state">These are as they were last known, and cannot be changed now: {saved.problem}</p>
      )}
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <Section
        title="Boards"
        actions={
          <ActionButton needs="editor" area="flow" kind="primary" onAction={onNew}>
            New board …
          </ActionButton>
        }
      >
        {saved.boards.length === 0 ? (
          <Empty title="There is no board yet">
            A board shows up to twelve views on one page, for one time and one filter. Save views in Explore first.
          </Empty>
        ) : (
          <DataTable caption="Boards" rows={saved.boards} keyOf={({ id }) => id} columns={columns("board")} />
        )}
      </Section>
      <ReportList saved={saved} turn={turn} onChanged={onChanged} />
      <Section title="Views">
        {saved.views.length === 0 ? (
          <Empty title="There is no view yet">"Saved views" in Explore saves what it shows.</Empty>
        ) : (
          <DataTable caption="Views" rows={saved.views} keyOf={({ id }) => id} columns={columns("view")} />
        )}
      </Section>
      <Changes turn={turn} />
    </>
  );
}

/** The first click asks, the second one deletes. */
function Delete({
  item,
  remove,
}: {
  readonly item: SavedView | Board;
  readonly remove: () => Promise<void>;
}): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  return (
    <ActionButton
      needs={item.role === "viewer" ? "editor" : item.role}
      area="flow"
      kind={isAsking ? "danger" : "plain"}
      onAction={async () => {
        if (isAsking) await remove();
        setAsking(!isAsking);
      }}
    >
      {isAsking ? (
        `Yes, delete ${item.name}`
      ) : (
        <span>
          Delete<span class="hidden"> {item.name}</span>
        </span>
      )}
    </ActionButton>
  );
}

function Changes({ turn }: { readonly turn: number }): JSX.Element {
  const changes = useTurnedCall<ViewChangesAnswer>(viewChangesCall, turn);
  return (
    <Section title="Changes" note="the newest first">
      <Shown of={changes}>
        {(answer) =>
          answer.changes.length === 0 ? (
            <Empty title="Nothing was changed yet" />
          ) : (
            <DataTable
              caption="Changes of views and boards"
              rows={answer.changes.slice(0, 50)}
              keyOf={({ number }) => String(number)}
              columns={[
                { name: "When", cell: ({ time }) => formatTime(Date.parse(time), Date.now()), isNumber: true },
                { name: "Who", cell: ({ user }) => (user === "" ? "–" : user) },
                { name: "What", cell: ({ action, kind, id }) => `${action} the ${kind} ${id}`, className: "wrap" },
              ]}
            />
          )
        }
      </Shown>
    </Section>
  );
}
