import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SavedViewsAnswer } from "../../api/answers.gen.ts";
import { exploreStatusCall, keptSince, type ExploreStatus } from "../../api/explore.ts";
import { hrefOfBoard, savedViewsCall, viewChangesCall, type Board, type NewBoard } from "../../api/saved-views.ts";
import { useCall } from "../../api/use-call.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { addressOf } from "../../format/time-choice.ts";
import { hrefOf, navigate, useQueryState } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { MarksBar, useMarks } from "../../ui/charts/chart-marks.tsx";
import { FilterInput } from "../../ui/filter-input.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Failure, Shown } from "../../ui/states.tsx";
import { TimeBox } from "../../ui/time-box.tsx";
import { usePageTime } from "../../ui/use-time.ts";
import { withCode } from "../../ui/with-code.tsx";
import { BoardCard } from "./board-card.tsx";
import { BoardDialog } from "./board-dialog.tsx";
import { BoardList } from "./board-list.tsx";
import "./boards.css";

const newBoard: NewBoard = { name: "", description: "", role: "viewer", from: "-1h", to: "now", filter: "", views: [] };

/** Boards: views that people share, on one page, for one time and one filter. */
export default function BoardsPage(): JSX.Element {
  const [query] = useQueryState();
  const [turn, setTurn] = useState(0);
  const [edited, setEdited] = useState<NewBoard | Board | undefined>(undefined);
  const saved = useTurnedCall<SavedViewsAnswer>(savedViewsCall, turn);
  const wanted = query.get("board");
  const board = saved.answer?.boards.find(({ id }) => id === wanted);
  const dialog = edited !== undefined && saved.answer !== undefined && (
    <BoardDialog
      board={edited}
      views={saved.answer.views}
      onClose={() => setEdited(undefined)}
      onSaved={(changed) => {
        setEdited(undefined);
        setTurn((count) => count + 1);
        navigate(hrefOfBoard(changed));
      }}
    />
  );
  if (wanted !== null && board !== undefined && saved.answer !== undefined) {
    return (
      <>
        <BoardView key={board.id} board={board} views={saved.answer.views} edit={setEdited} />
        {dialog}
      </>
    );
  }
  return (
    <Page title="Boards" lead="Views that people share, several on a page." calls={[savedViewsCall, viewChangesCall]}>
      <Shown of={saved}>
        {(answer) =>
          wanted === null ? (
            <BoardList
              saved={answer}
              turn={turn}
              onNew={() => setEdited(newBoard)}
              onChanged={() => setTurn((count) => count + 1)}
            />
          ) : (
            <Empty title={`There is no board ${wanted}, or it is for another role`}>
              <a href={hrefOf("boards")}>All boards</a>
            </Empty>
          )
        }
      </Shown>
      {dialog}
    </Page>
  );
}

function BoardView({
  board,
  views,
  edit,
}: {
  readonly board: Board;
  readonly views: SavedViewsAnswer["views"];
  readonly edit: (board: Board) => void;
}): JSX.Element {
  const [query, setQuery] = useQueryState();
  const [turn, setTurn] = useState(0);
  const status = useCall<ExploreStatus>(exploreStatusCall);
  const time = usePageTime(status.answer && keptSince(status.answer), board);
  const marks = useMarks(time.asked, time.every);
  const filter = query.get("filter") ?? board.filter;
  const shown = board.views.flatMap((id) => views.find((view) => view.id === id) ?? []);
  return (
    <Page
      title={board.name}
      lead={board.description}
      calls={[savedViewsCall]}
      actions={
        <>
          <a class="button" href={hrefOf("boards")}>
            All boards
          </a>
          <CopyButton text={location.href} label="Copy the address" isQuiet={false} />
          <ActionButton
            needs={board.role === "viewer" ? "editor" : board.role}
            area="flow"
            onAction={() => edit({ ...board, ...addressOf(time.choice), filter: filter.trim() })}
          >
            Change …
          </ActionButton>
        </>
      }
    >
      {status.failure?.status === 404 ? (
        <Empty title="This collector keeps no records to look back at">{withCode(status.failure.message)}</Empty>
      ) : status.answer === undefined && status.failure !== undefined ? (
        <Failure failure={status.failure} retry={status.reload} />
      ) : (
        <>
          <div class="card controls">
            <TimeBox time={time} onReload={() => setTurn((count) => count + 1)} />
            <FilterInput
              value={filter} // A blank: no filter, though the board has one.
              onChange={(next) => setQuery({ filter: next === board.filter ? undefined : next === "" ? " " : next })}
            />
            <MarksBar marks={marks} />
          </div>
          {shown.length === 0 && <Empty title="No view is on this board">"Change" puts some on it.</Empty>}
          <div class="board">
            {status.answer !== undefined &&
              shown.map((view) => (
                <BoardCard key={view.id} view={view} time={time} filter={filter} marks={marks} turn={turn} />
              ))}
          </div>
        </>
      )}
    </Page>
  );
}
