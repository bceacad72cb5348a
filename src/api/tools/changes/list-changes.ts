import { create } from "@bufbuild/protobuf";
import type { Key } from "../../../ip/index.ts";
import {
  isChange,
  type ChangeHead,
  type EntryChange,
  type UdmChange,
  type UdmEntry,
  type UdmHistory,
  type UdmWrite,
} from "../../../udm/index.ts";
import { apiError } from "../../error/api-error.ts";
import {
  ChangeSchema,
  EntryChangeSchema,
  ListChangesResponseSchema,
  UndoChangeResponseSchema,
  type Change,
  type ListChangesRequest,
  type UndoChangeRequest,
} from "../../gen/udm/v1/tools_pb.ts";
import type { Encodable } from "../../rpc/encoded.ts";
import { badRequest, requestKey, toApiError } from "../../udm/store-fault.ts";
import { quote } from "../../../text/index.ts";
import { entryChange, entryChangeJson } from "../common/full-udm.ts";
import { listedAnswer } from "../common/listed-answer.ts";
import { pageSize, readPageToken, writePageToken } from "../common/page-token.ts";
import type { ToolsCaller, ToolsContext } from "../common/tools-context.ts";

const mostChanges = 1000;
const changesByDefault = 100;
/** A page ends early when its changes have this many entries. */
const mostEntries = 20_000;

/** The message of a change. */
export function changeMessage(change: UdmChange, withEntries = true): Change {
  const { number, time, author, method, entries, layer = "", collector = "", isCut } = change;
  return create(ChangeSchema, {
    number,
    time: new Date(time).toISOString(),
    author,
    method,
    entries,
    cut: isCut,
    layer,
    collector,
    changes: withEntries ? change.changes.map((entry) => entryChange(entry, layer)) : [],
  });
}

export async function listChanges(context: ToolsContext, request: ListChangesRequest): Promise<Encodable> {
  const { history } = context.store();
  const { key, after, author, withoutEntries, withoutLayers } = request;
  const question = ["ListChanges", key, after, author, ...(withoutLayers ? [withoutLayers] : [])];
  const [before] = readPageToken(request.pageToken, question) ?? [];
  const limit = pageSize(request.pageSize, mostChanges, changesByDefault);
  const found = await asApiError(
    history.list({
      key: key === "" ? undefined : requestKey(key),
      author: author === "" ? undefined : author,
      withoutLayers,
      after,
      before: before === undefined ? undefined : Number(before),
      limit: limit + 1,
    }),
  );
  const page = withoutEntries ? found.slice(0, limit) : firstPage(found, limit);
  const last = page.at(-1);
  const nextPageToken =
    page.length < found.length && last !== undefined ? writePageToken(question, [String(last.number)]) : "";
  return listedAnswer({
    desc: ListChangesResponseSchema,
    rest: create(ListChangesResponseSchema, {
      nextPageToken,
      first: history.first(),
      last: history.last(),
      off: !history.isOn(),
    }),
    field: "changes",
    element: ChangeSchema,
    count: page.length,
    at: (i) => changeMessage(page[i] as UdmChange, !withoutEntries),
  });
}

/** A history in a database that is away is no fault of ours. */
async function asApiError<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw toApiError(error, () => "");
  }
}

function firstPage(found: readonly UdmChange[], limit: number): readonly UdmChange[] {
  let entries = 0;
  const end = found.findIndex((change, i) => i > 0 && (entries += change.entries) > mostEntries);
  return found.slice(0, end < 0 ? limit : Math.min(limit, end));
}

/** @throws ConnectError `not_found` for a change that is not kept, `failed_precondition` when it cannot be undone. */
export async function undoChange(
  context: ToolsContext,
  { id, dryRun }: UndoChangeRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  const { history } = context.store();
  const current = context.current();
  if (id === 0) throw badRequest([{ field: "id", description: "id is missing: the number of a change" }]);
  const change = await asApiError(history.get(id));
  if (change === undefined) throw apiError("not_found", "NO_SUCH_CHANGE", unknownChange(id, history));
  if (change.layer !== undefined) {
    const message = `change ${id} is one of the source ${change.layer}, which would make it again: it cannot be undone`;
    throw apiError("failed_precondition", "CHANGE_OF_SOURCE", message);
  }
  if (change.isCut) {
    const message = `change ${id} of ${change.entries} entries was too big to be kept with them: it cannot be undone`;
    throw apiError("failed_precondition", "CHANGE_IS_CUT", message);
  }
  const lasts = await asApiError(history.lastOf(change.changes.map(({ before, after }) => keyOf(before, after))));
  const writes = change.changes.map((entry, i) => undoOf(entry, i, lasts[i]));
  const undone: EntryChange[] = change.changes.map(({ before, after }) => ({ before: after, after: before }));
  let number = 0;
  if (!dryRun) number = await context.commit("UndoChange", writes, caller, () => "");
  else {
    const refused = writes.flatMap((write) => {
      const edited = write.edit(current.get(write.key));
      return "refused" in edited ? [{ field: edited.field, description: edited.description }] : [];
    });
    const [first] = refused;
    if (first !== undefined) {
      throw apiError("failed_precondition", "CHANGED_MEANWHILE", first.description, {
        violations: refused.slice(0, 100),
      });
    }
  }
  return listedAnswer({
    desc: UndoChangeResponseSchema,
    rest: create(UndoChangeResponseSchema, { change: number }),
    field: "changes",
    element: EntryChangeSchema,
    count: undone.length,
    at: (i) => entryChange(undone[i] as EntryChange),
    jsonAt: (i) => entryChangeJson(undone[i] as EntryChange),
  });
}

function keyOf(before: UdmEntry | undefined, after: UdmEntry | undefined): Key {
  const key = (after ?? before)?.key;
  if (key === undefined) throw new Error("a change of no entry");
  return key;
}

/** @param last the last change of the entry, when the undoing began. */
function undoOf(
  { before, after }: EntryChange,
  i: number,
  last: ChangeHead | undefined,
): Extract<UdmWrite, { op: "edit" }> {
  const key = keyOf(before, after);
  return {
    op: "edit",
    key,
    edit(found) {
      if (!isChange({ before: found, after })) return { entry: before };
      const by = last === undefined ? "" : ` by change ${last.number}${last.author === "" ? "" : ` of ${last.author}`}`;
      return {
        refused: "failed_precondition",
        field: `changes[${i}]`,
        description: `key ${quote(key.text)} was changed since${by}`,
      };
    },
  };
}

function unknownChange(id: number, history: UdmHistory): string {
  const first = history.first();
  const last = history.last();
  if (first > last) return `there is no change ${id}: none is kept`;
  return `there is no change ${id}: ${first === last ? `only change ${first} is kept` : `changes ${first} to ${last} are kept`}`;
}
