import type { SavedViewsAnswer } from "./answers.gen.ts";
import { callApi, type ApiCall } from "./call.ts";
import { writeState } from "./explore-state.ts";
import { lookOf, writeLook } from "./look.ts";
import { hrefOf } from "../navigation/place.ts";

export type SavedView = SavedViewsAnswer["views"][number];
export type Board = SavedViewsAnswer["boards"][number];
type Saved = "revision" | "changedAt" | "changedBy" | "id";
/** What people say of one that is new. */
export type NewView = Omit<SavedView, Saved>;
export type NewBoard = Omit<Board, Saved>;

export const savedViewsCall: ApiCall = { path: "api/v1/views" };
export const viewChangesCall: ApiCall = { path: "api/v1/views/changes" };

export const saveViewCall = (view: NewView): ApiCall => ({ path: "api/v1/views/save", body: { view, revision: 0 } });

/** Saves a new board, or one that was seen as it is; one that others have changed meanwhile is refused. */
export const saveBoard = (board: NewBoard | Board): Promise<Board> =>
  callApi<Board>({
    path: "api/v1/views/save",
    body: { board, revision: "revision" in board ? board.revision : 0 },
  });

/** Deletes what was seen as it is. */
export const deleteSaved = (kind: "view" | "board", { id, revision }: SavedView | Board): Promise<unknown> =>
  callApi({ path: "api/v1/views/delete", body: { kind, id, revision } });

/** The address of a view in Explore. */
export function hrefOfView(view: SavedView): string {
  const { from, to, filter, dimensions, measure, when, limit, compare } = view;
  const state = {
    ...writeState({ filter, dimensions, measure, when, limit, compare }),
    ...writeLook(lookOf(view)),
  };
  return hrefOf("explore", { ...state, from: from === "-1h" ? undefined : from, to: to === "now" ? undefined : to });
}

export const hrefOfBoard = ({ id }: Pick<Board, "id">): string => hrefOf("boards", { board: id });
