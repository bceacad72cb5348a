import { isDeepStrictEqual } from "node:util";
import { create, toBinary, toJsonString, type MessageInitShape } from "@bufbuild/protobuf";
import type { Key } from "../../base/ip/index.ts";
import {
  isChange,
  maxViolations,
  type ChangeHead,
  type ScopeChange,
  type ScopeText,
  type EntryChange,
  type UdmChange,
  type UdmEntry,
  type UdmHistory,
  type UdmWrite,
} from "../../metadata/index.ts";
import { apiError, type FieldViolation } from "../api-error.ts";
import {
  ChangeSchema,
  EntryChangeSchema,
  ListChangesResponseSchema,
  type ScopeChangeSchema,
  type ScopeSchema,
  UndoChangeResponseSchema,
  type Change,
  type ListChangesRequest,
  type ListChangesResponse,
  type UndoChangeRequest,
} from "../gen/udm/v1/tools_pb.ts";
import type { CodecName, Encodable } from "../rpc/protocol.ts";
import { badRequest, originOf, requestKey, toApiError } from "../udm/udm-service.ts";
import { quote } from "../../base/text/index.ts";
import { entryChange, entryChangeJson, fieldHead, listedAnswer, longMessage } from "./full-udm.ts";
import {
  pageSize,
  readPageToken,
  writePageToken,
  elementsPerTurn,
  turn,
  type ToolsCaller,
  type ToolsContext,
} from "./tools-context.ts";

const mostChanges = 1000;
const changesByDefault = 100;
/** The number of entries at which a page of changes ends early. */
const mostEntries = 20_000;

/** Returns the message of a change. */
export function changeMessage(change: UdmChange, withEntries = true): Change {
  const { number, time, author, method, entries, layer = "", collector = "", isCut, scope } = change;
  return create(ChangeSchema, {
    number,
    time: new Date(time).toISOString(),
    author,
    method,
    entries,
    cut: isCut,
    layer,
    collector,
    ...(scope !== undefined && { scope: scopeChangeMessage(scope) }),
    changes: withEntries ? change.changes.map((entry) => entryChange(entry, layer)) : [],
  });
}

/** Returns the message of a scope. */
export function scopeMessage({
  match,
  inherit,
  entries = "",
  ...scope
}: ScopeText & { readonly count?: number }): MessageInitShape<typeof ScopeSchema> {
  const rows = match.map(({ vrf = [], exporter = [], interface: netif = [], vlan = [] }) => ({
    vrf: [...vrf],
    exporter: [...exporter],
    interface: [...netif],
    vlan: [...vlan],
  }));
  return { ...scope, match: rows, isolated: !inherit, entries };
}

function scopeChangeMessage({ before, after }: ScopeChange): MessageInitShape<typeof ScopeChangeSchema> {
  return {
    ...(before !== undefined && { before: scopeMessage(before) }),
    ...(after !== undefined && { after: scopeMessage(after) }),
  };
}

const noBytes = Buffer.alloc(0);
/** Entries that are encoded at once. */
const entriesAtOnce = 100;

/** Reports whether a change takes too long to encode at once. */
export function isLongChange({ changes }: UdmChange): boolean {
  return changes.length > entriesAtOnce;
}

/** Yields the message of a change in chunks, as JSON or as the bytes of its fields. */
export function* changeChunks(codec: CodecName, change: UdmChange): Generator<Buffer, void> {
  const head = changeMessage(change, false);
  const { layer = "", changes } = change;
  if (codec === "proto") yield Buffer.from(toBinary(ChangeSchema, head));
  else yield Buffer.from(toJsonString(ChangeSchema, head).slice(0, -1) + (changes.length > 0 ? ',"changes":[' : ""));
  for (let start = 0; start < changes.length; start += entriesAtOnce) {
    const part = changes.slice(start, start + entriesAtOnce);
    if (codec === "json") {
      const text = part.map((entry) => entryChangeJson(entry, layer)).join(",");
      yield Buffer.from(start === 0 ? text : `,${text}`);
      continue;
    }
    const { number } = ChangeSchema.field.changes;
    const encoded = part.flatMap((entry) => {
      const bytes = toBinary(EntryChangeSchema, entryChange(entry, layer));
      return [fieldHead(number, bytes.length), bytes];
    });
    yield Buffer.concat(encoded);
  }
  if (codec === "json") yield Buffer.from(changes.length > 0 ? "]}" : "}");
}

/** Yields a field that is a message in chunks. It makes all chunks first, because the length comes before them. */
export function* messageField(number: number, chunks: Iterable<Buffer>): Generator<Buffer, void> {
  const made: Buffer[] = [];
  let size = 0;
  for (const chunk of chunks) {
    made.push(chunk);
    size += chunk.length;
    yield noBytes;
  }
  yield fieldHead(number, size);
  yield* made;
}

function* pageChunks(codec: CodecName, page: readonly UdmChange[], rest: ListChangesResponse): Generator<Buffer, void> {
  if (codec === "proto") {
    const { number } = ListChangesResponseSchema.field.changes;
    for (const change of page) yield* messageField(number, changeChunks(codec, change));
    yield Buffer.from(toBinary(ListChangesResponseSchema, rest));
    return;
  }
  yield Buffer.from('{"changes":[');
  for (const [i, change] of page.entries()) {
    yield i === 0 ? noBytes : Buffer.from(",");
    yield* changeChunks(codec, change);
  }
  const others = toJsonString(ListChangesResponseSchema, rest).slice(1);
  yield Buffer.from(others === "}" ? "]}" : `],${others}`);
}

export async function listChanges(context: ToolsContext, request: ListChangesRequest): Promise<Encodable> {
  const { history } = context.store();
  const { key, after, author, withoutEntries, withoutLayers } = request;
  const question = ["ListChanges", key, after, author, ...(withoutLayers ? [withoutLayers] : [])];
  const [before] = readPageToken(request.pageToken, question) ?? [];
  const limit = pageSize(request.pageSize, mostChanges, changesByDefault);
  const found = await asApiError(
    history.list({
      key: key === "" ? undefined : requestKey(key, "key", context.store().parseKey),
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
  const rest = create(ListChangesResponseSchema, {
    nextPageToken,
    first: history.first(),
    last: history.last(),
    off: !history.isOn(),
  });
  if (!withoutEntries && page.reduce((sum, { changes }) => sum + changes.length, 0) > entriesAtOnce) {
    return { encode: (codec) => longMessage(() => pageChunks(codec, page, rest)) };
  }
  return listedAnswer({
    desc: ListChangesResponseSchema,
    rest,
    field: "changes",
    element: ChangeSchema,
    count: page.length,
    at: (i) => changeMessage(page[i] as UdmChange, !withoutEntries),
  });
}

/** Converts errors of a history whose database is unavailable, which is not an internal fault. */
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

/** Undoes a change. @throws ConnectError `not_found` for a change that is not kept, `failed_precondition` when it cannot be undone. */
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
  if (change.scope !== undefined) return undoScope(context, change.scope, dryRun, caller);
  const lasts = await asApiError(history.lastOf(change.changes.map(({ before, after }) => keyOf(before, after))));
  const undone: EntryChange[] = [];
  const writes = change.changes.map((entry, i) => undoOf(entry, i, lasts[i], undone));
  let number = 0;
  if (!dryRun) number = await context.commit("UndoChange", writes, caller, () => "");
  else {
    const refused: FieldViolation[] = [];
    for (const [i, write] of writes.entries()) {
      if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
      const edited = write.edit(current.get(write.key));
      if ("refused" in edited) refused.push({ field: edited.field, description: edited.description });
    }
    const [first] = refused;
    if (first !== undefined) {
      throw apiError("failed_precondition", "CHANGED_MEANWHILE", first.description, {
        violations: refused.slice(0, maxViolations),
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

async function undoScope(
  { definitions = { disabled: "there are no scopes: a change of one cannot be undone" } }: ToolsContext,
  change: ScopeChange,
  dryRun: boolean,
  caller: ToolsCaller,
): Promise<Encodable> {
  if ("disabled" in definitions) throw apiError("failed_precondition", "SCOPES_DISABLED", definitions.disabled);
  const number = await asApiError(definitions.takeBack(change, originOf("UndoChange", caller), dryRun));
  return listedAnswer({
    desc: UndoChangeResponseSchema,
    rest: create(UndoChangeResponseSchema, { change: number ?? 0 }),
    field: "changes",
    element: EntryChangeSchema,
    count: 0,
    at: () => create(EntryChangeSchema),
  });
}

function keyOf(before: UdmEntry | undefined, after: UdmEntry | undefined): Key {
  const key = (after ?? before)?.key;
  if (key === undefined) throw new Error("a change of no entry");
  return key;
}

/**
 * Returns the write that undoes a change of an entry.
 *
 * @param last the last change of the entry when the undo began.
 * @param undone receives the effect of the write, at the same position.
 */
function undoOf(
  change: EntryChange,
  i: number,
  last: ChangeHead | undefined,
  undone: EntryChange[],
): Extract<UdmWrite, { op: "edit" }> {
  const key = keyOf(change.before, change.after);
  return {
    op: "edit",
    key,
    edit(found) {
      const { entry, conflict } = takeBack(change, found);
      if (conflict === undefined) {
        undone[i] = { before: found, after: entry };
        return { entry };
      }
      const by = last === undefined ? "" : ` by change ${last.number}${last.author === "" ? "" : ` of ${last.author}`}`;
      const description = `key ${quote(key.text)} was changed since${by}${conflict === "" ? "" : `, in its ${conflict}`}`;
      return { refused: "failed_precondition", field: `changes[${i}]`, description };
    },
  };
}

/**
 * Undoes a change of an entry field by field, and metadata key by key, because later changes may have touched other fields.
 *
 * @returns the entry without the change, or the name of a field that a later change has touched ("" for the whole entry).
 */
function takeBack(
  { before, after }: EntryChange,
  found: UdmEntry | undefined,
): { readonly entry?: UdmEntry | undefined; readonly conflict?: string } {
  if (!isChange({ before: found, after })) return { entry: before };
  if (before === undefined || after === undefined || found === undefined) return { conflict: "" };
  const metadata = new Map(found.metadata);
  for (const name of new Set([...before.metadata.keys(), ...after.metadata.keys()])) {
    const [old, made, now] = [before, after, found].map((entry) => entry.metadata.get(name));
    if (old === made) continue;
    if (now !== made) return { conflict: `metadata ${quote(name)}` };
    if (old === undefined) metadata.delete(name);
    else metadata.set(name, old);
  }
  const { fileOnly: _, ...values } = found;
  const entry: { -readonly [F in keyof UdmEntry]: UdmEntry[F] } = { ...values, metadata };
  for (const field of ["name", "vlan", "internal", "tags", "fileOnly"] as const) {
    const [old, made, now] = [before, after, found].map((one) => one[field]);
    const isOurs = !isDeepStrictEqual(old, made);
    if (isOurs && !isDeepStrictEqual(now, made)) return { conflict: field === "fileOnly" ? "contexts" : field };
    Object.assign(entry, { [field]: isOurs ? old : now });
  }
  if (entry.fileOnly === undefined) delete entry.fileOnly;
  return { entry };
}

function unknownChange(id: number, history: UdmHistory): string {
  const first = history.first();
  const last = history.last();
  if (first > last) return `there is no change ${id}: none is kept`;
  return `there is no change ${id}: ${first === last ? `only change ${first} is kept` : `changes ${first} to ${last} are kept`}`;
}
