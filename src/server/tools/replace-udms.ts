import { create } from "@bufbuild/protobuf";
import { ConnectError, Code } from "@connectrpc/connect";
import { keyContains, type Key } from "../../base/ip/index.ts";
import {
  maxViolations,
  type UdmEntry,
  isChange,
  type EntryChange,
  type PlanWrites,
  type UdmIndex,
  type UdmWrite,
} from "../../metadata/index.ts";
import { type FieldViolation, apiError } from "../api-error.ts";
import { quote } from "../../base/text/index.ts";
import {
  type UdmScope,
  EntryChangeSchema,
  ReplaceUdmsResponseSchema,
  type FullUdm,
  type ReplaceUdmsRequest,
} from "../gen/udm/v1/tools_pb.ts";
import { badRequest, requestKey } from "../udm/udm-service.ts";
import { findInJson, type FindBytes, scanEntries } from "./scan-entries.ts";
import type { Task } from "../../base/report/index.ts";
import type { Encodable } from "../rpc/protocol.ts";
import {
  afterReplacement,
  countChanges,
  entryChange,
  entryChangeJson,
  readFullUdm,
  type RequestedEntry,
  listedAnswer,
} from "./full-udm.ts";
import { below, elementsPerTurn, turn, type ToolsCaller, type ToolsContext } from "./tools-context.ts";

/** The set of entries that a replacement covers. */
export interface Scope {
  /** The key within which the entries lie. */
  readonly within: Key | undefined;
  /** Groups of texts: the JSON of an entry has to contain one of each group. */
  readonly anyOf: readonly (readonly FindBytes[])[];
  has(entry: UdmEntry): boolean;
  /** The text for messages, such as `within 10.0.0.0/8`. */
  readonly description: string;
}

/** Reads the scope of a replacement. @throws ConnectError `invalid_argument` unless exactly one is given. */
export function readScope(context: ToolsContext, scope: UdmScope | undefined): Scope {
  const { all = false, within = "", tag = "", metadataName = "", metadataValue = "" } = scope ?? {};
  const given = [all, within !== "", tag !== "", metadataName !== ""].filter(Boolean).length;
  if (given !== 1 || (metadataName === "" && metadataValue !== "")) {
    const description = "scope must name exactly one of all, within, tag, and metadata_name with metadata_value";
    throw badRequest([{ field: "scope", description }]);
  }
  const everything: Scope = { within: undefined, anyOf: [], has: () => true, description: "all entries" };
  if (all) return everything;
  if (within !== "") return scopeWithin(requestKey(within, "scope.within", context.store().parseKey));
  const text = tag === "" ? metadataValue : tag;
  const find = text === "" ? undefined : findInJson(text);
  const anyOf = find === undefined ? [] : [[find]];
  if (tag !== "") {
    return {
      ...everything,
      anyOf,
      has: ({ tags }) => tags.includes(tag),
      description: `entries with the tag ${quote(tag)}`,
    };
  }
  return {
    ...everything,
    anyOf,
    has: ({ metadata }) => metadata.get(metadataName) === metadataValue,
    description: `entries with the metadata ${quote(metadataName)} of ${quote(metadataValue)}`,
  };
}

/** Returns the message for a key outside of the scope. */
function outsideOf(scope: Scope, key: string): string {
  return `the entry of ${quote(key)} is not in the scope: ${scope.description}`;
}

/** Returns violations for entries outside of the scope, at most {@link maxViolations}. */
export function scopeFaults(
  scope: Scope,
  wanted: ReadonlyMap<string, { readonly entry: UdmEntry }>,
): readonly FieldViolation[] {
  const faults: FieldViolation[] = [];
  for (const [key, { entry }] of wanted) {
    if (faults.length < maxViolations && !scope.has(entry))
      faults.push({ field: key, description: outsideOf(scope, key) });
  }
  return faults;
}

function scopeWithin(key: Key): Scope {
  return {
    within: key,
    anyOf: [],
    has: (entry) => keyContains(key, entry.key),
    description: `entries within ${key.text}`,
  };
}

/** The most times that a difference is computed before it is saved. The last time, all other writes wait. */
const attempts = 3;
const defaultMaxDeletes = "20%";
/** The writes that are made in one turn of the event loop. */
const writesPerTurn = 5000;

/** Replaces entries. @throws ConnectError `invalid_argument`; `failed_precondition` for too many deletions, or entries outside of the scope. */
export async function replaceUdms(
  context: ToolsContext,
  { udms, scope: given, dryRun, maxDeletes }: ReplaceUdmsRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  context.store();
  const scope = readScope(context, given);
  const task = context.progress.begin({
    kind: dryRun ? "replace-check" : "replace",
    subject: scope.description,
    ...(caller.principal !== undefined && { by: caller.principal.name }),
  });
  try {
    task.step("reading", "entries", udms.length);
    const wanted = await readWanted(context, udms, scope);
    const pathOf = (_: string, index: number): string => `udms[${index}].key`;
    const method = "ReplaceUdms";
    return await answer(
      await replaceEntries(context, { method, wanted, scope, dryRun, maxDeletes, caller, pathOf, task }),
    );
  } finally {
    task.end();
  }
}

/** Returns the path of a key in a request. */
type PathOf = (key: string, index: number) => string;

interface Replacement {
  readonly method: string;
  /** The wanted entries of the scope, by key. */
  readonly wanted: ReadonlyMap<string, RequestedEntry>;
  readonly scope: Scope;
  readonly dryRun: boolean;
  readonly maxDeletes: string;
  readonly caller: ToolsCaller;
  /** Returns the path of a key in the request, for errors. `index` is its position in `wanted`. */
  readonly pathOf: PathOf;
  readonly task: Task;
}

/** The result of a replacement, done or only tried. */
interface Replaced extends Difference {
  /** The number of the change; 0 for none. */
  readonly change: number;
}

/** Replaces the entries of a scope. @throws ConnectError as {@link replaceUdms} does. */
export async function replaceEntries(context: ToolsContext, replacement: Replacement): Promise<Replaced> {
  const { scope, dryRun, caller, task } = replacement;
  const mayDelete = readMaxDeletes(replacement.maxDeletes);
  const compare = async (index: UdmIndex): Promise<Difference> => {
    task.step("comparing", "entries", index.size);
    const difference = await differenceOf(index, replacement);
    if (!dryRun) await requireFewDeletes(difference, mayDelete, scope);
    return difference;
  };
  const save = async (writes: readonly UdmWrite[] | PlanWrites, onVersion?: number): Promise<number> => {
    task.step("saving", "entries", typeof writes === "function" ? 0 : writes.length);
    return context.commit(replacement.method, writes, caller, () => "", onVersion);
  };
  for (let attempt = 1; attempt < attempts; attempt++) {
    const index = context.current();
    const difference = await compare(index);
    if (dryRun) return { ...difference, change: 0 };
    try {
      return { ...difference, change: await save(await writesOf(difference.changes), index.version) };
    } catch (error) {
      const isOvertaken = error instanceof ConnectError && error.code === Code.FailedPrecondition;
      if (!isOvertaken || context.current().version === index.version) throw error;
    }
  }
  // Constant writers, here or elsewhere, wait for this replacement.
  let difference: Difference | undefined;
  const change = await save(async (index) => writesOf((difference = await compare(index)).changes));
  return { ...(difference as Difference), change };
}

interface Difference {
  readonly changes: readonly EntryChange[];
  readonly unchanged: number;
  /** The number of entries that were in the scope before. */
  readonly before: number;
}

/** Reads the wanted entries. @returns the entries of the request by key. */
async function readWanted(
  context: ToolsContext,
  udms: readonly FullUdm[],
  scope: Scope,
): Promise<ReadonlyMap<string, RequestedEntry>> {
  const { parseKey } = context.store();
  const wanted = new Map<string, RequestedEntry>();
  const violations: FieldViolation[] = [];
  for (const [i, udm] of udms.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    const read = readFullUdm(udm, undefined, parseKey);
    const faults = "violations" in read ? read.violations : placeFaults(read, scope, wanted);
    violations.push(...below(`udms[${i}]`, faults));
    if (violations.length >= maxViolations) break;
    if (!("violations" in read)) wanted.set(read.entry.key.text, read);
  }
  if (violations.length > 0) throw badRequest(violations);
  return wanted;
}

function placeFaults(
  { entry }: RequestedEntry,
  scope: Scope,
  wanted: ReadonlyMap<string, RequestedEntry>,
): readonly FieldViolation[] {
  const { text } = entry.key;
  if (wanted.has(text)) return [{ field: "key", description: `key ${quote(text)} is given twice` }];
  return scope.has(entry) ? [] : [{ field: "key", description: outsideOf(scope, text) }];
}

async function differenceOf(
  index: UdmIndex,
  { wanted, scope, caller, pathOf, task }: Replacement,
): Promise<Difference> {
  const check = (): void => {
    task.reached(before);
    caller.throwIfAborted();
  };
  const changes: EntryChange[] = [];
  const met = new Set<string>();
  let before = 0;
  await scanEntries(index, { within: scope.within, anyOf: scope.anyOf, check }, (entry) => {
    if (!scope.has(entry)) return true;
    before++;
    const requested = wanted.get(entry.key.text);
    if (requested !== undefined) met.add(entry.key.text);
    // Entries that are equal in the API can differ only in file-only fields.
    const isOfFile = requested !== undefined && (requested.contexts.length > 0 || requested.otherFields !== undefined);
    if (requested !== undefined && !isOfFile && !isChange({ before: entry, after: requested.entry })) return true;
    const found = index.get(entry.key) as UdmEntry;
    const change = { before: found, after: requested && afterReplacement(found, requested) };
    if (isChange(change)) changes.push(change);
    return true;
  });
  const unchanged = before - changes.length;
  await addNew(index, wanted, met, changes, pathOf);
  return { changes, unchanged, before };
}

/** Adds the wanted entries that the scope does not have yet. @throws ConnectError when such an entry exists outside of the scope. */
async function addNew(
  index: UdmIndex,
  wanted: ReadonlyMap<string, RequestedEntry>,
  met: ReadonlySet<string>,
  changes: EntryChange[],
  pathOf: PathOf,
): Promise<void> {
  const strangers: FieldViolation[] = [];
  let i = 0;
  for (const [key, requested] of wanted) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    if (!met.has(key)) {
      if (index.get(requested.entry.key) === undefined) {
        changes.push({ before: undefined, after: afterReplacement(undefined, requested) });
      } else {
        const description = `key ${quote(key)} exists, and its entry is not in the scope: it would be overwritten`;
        strangers.push({ field: pathOf(key, i), description });
      }
    }
    if (strangers.length >= maxViolations) break;
    i++;
  }
  const [first] = strangers;
  if (first === undefined) return;
  const more = strangers.length > 1 ? ` (and ${strangers.length - 1} more)` : "";
  throw apiError("failed_precondition", "NOT_IN_SCOPE", `${first.description}${more}`, { violations: strangers });
}

/** Returns the number of entries that may be deleted, out of a total. */
type MayDelete = (entries: number) => { readonly count: number; readonly text: string };

/** Reads the limit of deletions. @throws ConnectError `invalid_argument` */
function readMaxDeletes(given: string): MayDelete {
  const text = given === "" ? defaultMaxDeletes : given;
  const [, digits, percent] = /^(\d{1,15}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? [];
  const isWhole = digits?.includes(".") === false;
  if (digits === undefined || (percent === "" && !isWhole) || (percent === "%" && Number(digits) > 100)) {
    const description = `max_deletes ${quote(text)} is neither a number nor a percentage such as ${defaultMaxDeletes}`;
    throw badRequest([{ field: "max_deletes", description }]);
  }
  const value = Number(digits);
  if (percent === "") return () => ({ count: value, text });
  return (entries) => ({ count: Math.floor((entries * value) / 100), text });
}

async function requireFewDeletes({ changes, before }: Difference, mayDelete: MayDelete, scope: Scope): Promise<void> {
  const { deleted } = await countChanges(changes);
  const { count, text } = mayDelete(before);
  if (deleted <= count) return;
  const message = `${deleted} of ${before} entries would be deleted (${scope.description}): max_deletes ${text} allows ${count}`;
  throw apiError("failed_precondition", "TOO_MANY_DELETES", message, {
    metadata: { deleted: String(deleted), allowed: String(count) },
  });
}

async function writesOf(changes: readonly EntryChange[]): Promise<readonly UdmWrite[]> {
  const writes: UdmWrite[] = [];
  for (const [i, { before, after }] of changes.entries()) {
    if (i % writesPerTurn === writesPerTurn - 1) await turn();
    const key = (after ?? before)?.key;
    if (key !== undefined) writes.push({ op: "edit", key, edit: () => ({ entry: after }) });
  }
  return writes;
}

async function answer({ changes, unchanged, change }: Replaced): Promise<Encodable> {
  const { created, updated, deleted } = await countChanges(changes);
  return listedAnswer({
    desc: ReplaceUdmsResponseSchema,
    rest: create(ReplaceUdmsResponseSchema, { created, updated, deleted, unchanged, change }),
    field: "changes",
    element: EntryChangeSchema,
    count: changes.length,
    at: (i) => entryChange(changes[i] as EntryChange),
    jsonAt: (i) => entryChangeJson(changes[i] as EntryChange),
  });
}
