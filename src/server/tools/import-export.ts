import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  exchangeFormats,
  exportEntries,
  fromUdmEntry,
  type ExchangeEntry,
  type ExchangeFormat,
  type UdmEntry,
  type UdmIndex,
  ExchangeError,
  importEntries,
  readColumnMap,
  type ColumnMap,
  type ImportFault,
  type ImportResult,
  maxViolations,
  type EntryChange,
  type UdmWrite,
} from "../../metadata/index.ts";
import type { Key } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import {
  type ExportUdmsRequest,
  EntryChangeSchema,
  ImportFaultSchema,
  ImportUdmsResponseSchema,
  type ImportUdmsRequest,
} from "../gen/udm/v1/tools_pb.ts";
import type { CodecName, Encodable, LongMessage } from "../rpc/protocol.ts";
import { badRequest } from "../udm/udm-service.ts";
import { varintSize, writeVarint } from "../udm/udm-transcoder.ts";
import { type ToolsCaller, type ToolsContext, elementsPerTurn, turn } from "./tools-context.ts";
import { narrowFilter, findInJson, scanEntries } from "./scan-entries.ts";
import { matcherOf, readFilter } from "./search-udms.ts";
import type { Task } from "../../base/report/index.ts";
import type { CallContext } from "../rpc/method.ts";
import {
  afterReplacement,
  countChanges,
  entryChange,
  entryChangeJson,
  realChanges,
  type RequestedEntry,
  listedAnswer,
} from "./full-udm.ts";
import { replaceEntries, readScope, scopeFaults, type Scope } from "./replace-udms.ts";

/** Exports entries. @throws ConnectError */
export async function exportUdms(
  context: ToolsContext,
  { format: formatText, filter: expression, text, allScopes }: ExportUdmsRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  const own = context.current();
  const format = readFormat(formatText);
  const filter = readFilter(expression, context.store().parseKey);
  const parts: ExportedPart[] = [];
  for (const { scope, index } of [{ scope: undefined, index: own }, ...(allScopes ? scopesOf(context, format) : [])]) {
    const isWhole = filter === undefined && text === "";
    parts.push({ scope, index, keys: isWhole ? undefined : await keysFor(index, filter, text, caller) });
  }
  const count = parts.reduce((sum, { index, keys }) => sum + (keys?.length ?? index.size), 0);
  return exportAnswer(() => entriesOf(parts), format, count);
}

/** A part of the exported entries. */
interface ExportedPart {
  /** The scope that rows name; undefined where they name none. */
  readonly scope: string | undefined;
  readonly index: UdmIndex;
  /** The keys of the entries; undefined for all. */
  readonly keys: readonly Key[] | undefined;
}

/** Returns the entries of every scope that has its own. @throws ConnectError */
function scopesOf(
  context: ToolsContext,
  format: ExchangeFormat,
): readonly { readonly scope: string; readonly index: UdmIndex }[] {
  const refuse = (description: string): Error => badRequest([{ field: "all_scopes", description }]);
  if (context.scopeName !== undefined) {
    throw refuse(`the call is in scope ${quote(context.scopeName)}: call it in none for those of all scopes`);
  }
  if (format === "yaml") throw refuse("yaml has no column for the scope: expected csv, json or ndjson");
  const { definitions } = context;
  if (definitions === undefined) throw refuse("entries here are in no scopes");
  if ("disabled" in definitions) throw refuse(definitions.disabled);
  return definitions.list().flatMap(({ name: scope }) => {
    const found = context.inScope(scope);
    // A scope without a file has no entries, and a scope may have been removed.
    return found === undefined || found.isDisabled() ? [] : [{ scope, index: found.current() }];
  });
}

async function keysFor(
  index: UdmIndex,
  filter: ReturnType<typeof readFilter>,
  text: string,
  caller: ToolsCaller,
): Promise<readonly Key[]> {
  const { anyOf, within, asksForContexts, asksForLayers } = narrowFilter(filter);
  if (asksForLayers) {
    const description = "filter asks for layers: an export has the entries that people write";
    throw badRequest([{ field: "filter", description }]);
  }
  const keys: Key[] = [];
  const isMatch = matcherOf(filter, text);
  const find = text === "" ? undefined : findInJson(text);
  const needles = find === undefined ? anyOf : [[find], ...anyOf];
  await scanEntries(index, { within, anyOf: needles, check: () => caller.throwIfAborted() }, (entry) => {
    if (isMatch(asksForContexts ? (index.get(entry.key) as UdmEntry) : entry)) keys.push(entry.key);
    return true;
  });
  return keys;
}

/** Reads the name of a format. @throws ConnectError `invalid_argument` */
function readFormat(text: string): ExchangeFormat {
  const format = exchangeFormats.find((one) => one === text);
  if (format !== undefined) return format;
  const description = `format ${quote(text)} is not known: expected ${exchangeFormats.join(", ")}`;
  throw badRequest([{ field: "format", description }]);
}

function* entriesOf(parts: readonly ExportedPart[]): Iterable<ExchangeEntry> {
  for (const { scope, index, keys } of parts) {
    const entries = keys === undefined ? index.entries() : entriesAt(index, keys);
    for (const entry of entries) yield scope === undefined ? fromUdmEntry(entry) : { ...fromUdmEntry(entry), scope };
  }
}

function* entriesAt(index: UdmIndex, keys: readonly Key[]): Iterable<UdmEntry> {
  for (const key of keys) yield index.get(key) as UdmEntry;
}

/** Returns the message ExportUdmsResponse, which is made while it is sent, because an address plan may not fit into memory. */
function exportAnswer(entries: () => Iterable<ExchangeEntry>, format: ExchangeFormat, count: number): Encodable {
  return { encode: (codec: CodecName) => messages[codec](() => exportEntries(entries, format), count) };
}

const messages: Readonly<Record<CodecName, (texts: () => Iterable<string>, count: number) => LongMessage>> = {
  json(texts, count) {
    const chunks = function* (): Generator<Buffer> {
      yield Buffer.from('{"text":"');
      for (const text of texts()) yield Buffer.from(JSON.stringify(text).slice(1, -1));
      yield Buffer.from(count === 0 ? '"}' : `","entries":${count}}`);
    };
    return { size: (isWanted) => sizeOf(chunks(), isWanted), chunks };
  },
  proto(texts, count) {
    let length: number | undefined;
    const bytes = function* (): Generator<Buffer> {
      for (const text of texts()) yield Buffer.from(text);
    };
    const tail = count === 0 ? Buffer.alloc(0) : tagged(entriesTag, count);
    return {
      needsSize: true,
      async size(isWanted) {
        const size = await sizeOf(bytes(), isWanted);
        if (size === undefined) return undefined;
        length = size;
        return tagged(textTag, size).length + size + tail.length;
      },
      *chunks() {
        if (length === undefined) throw new Error("the length of the text is not known yet");
        yield tagged(textTag, length);
        yield* bytes();
        yield tail;
      },
    };
  },
};

// The tags of the fields of ExportUdmsResponse: number and wire type.
const textTag = 0x0a;
const entriesTag = 0x10;

function tagged(tag: number, value: number): Buffer {
  const bytes = Buffer.alloc(1 + varintSize(value));
  bytes[0] = tag;
  writeVarint(value, bytes, 1);
  return bytes;
}

async function sizeOf(chunks: Iterable<Uint8Array>, isWanted: () => boolean): Promise<number | undefined> {
  let size = 0;
  for (const chunk of chunks) {
    size += chunk.length;
    await setImmediate();
    if (!isWanted()) return undefined;
  }
  return size;
}

type EditWrite = Extract<UdmWrite, { op: "edit" }>;

type ImportCaller = ToolsCaller & Pick<CallContext, "signal">;

const method = "ImportUdms";
/** The characters of a chunk of text. Other work can run between chunks. */
const chunkLength = 32_768;
/** The entries that are only passed on in one turn of the event loop. */
const entriesPerTurn = 5000;

/** Imports entries. @throws ConnectError `invalid_argument` for a text with faults, and all errors of ReplaceUdms. */
export async function importUdms(
  context: ToolsContext,
  request: ImportUdmsRequest,
  caller: ImportCaller,
): Promise<Encodable> {
  context.store();
  const scope = request.scope && readScope(context, request.scope);
  const task = context.progress.begin({
    kind: request.dryRun ? "import-check" : "import",
    subject: request.format,
    ...(caller.principal !== undefined && { by: caller.principal.name }),
  });
  try {
    return await runImport(context, request, scope, caller, task);
  } finally {
    task.end();
  }
}

async function runImport(
  context: ToolsContext,
  request: ImportUdmsRequest,
  scope: Scope | undefined,
  caller: ImportCaller,
  task: Task,
): Promise<Encodable> {
  const { dryRun, skipFaultyRows, mostChanges } = request;
  const result = await read(context, request, caller, task);
  const { faults, rows, faultCount } = result;
  const [entries, ofScopes] = byScope(context, result.entries);
  if (faultCount > 0 && !dryRun && !skipFaultyRows) throw refused(result);
  task.step("comparing", "entries", entries.length);
  let changes: readonly EntryChange[];
  let unchanged: number;
  let change = 0;
  if (scope !== undefined) {
    const wanted = await byKey(entries);
    const outside = scopeFaults(scope, wanted);
    if (outside.length > 0) throw badRequest(outside);
    ({ changes, unchanged, change } = await replaceEntries(context, {
      method,
      wanted,
      scope,
      dryRun,
      maxDeletes: request.maxDeletes,
      caller,
      pathOf: (key) => key,
      task,
    }));
  } else {
    const all: EntryChange[] = [];
    for (const [of, rest] of [[context, entries] as const, ...ofScopes]) {
      const done = await upsert(of, rest, dryRun, caller, task);
      for (const one of done.changes) all.push(one);
      // Each scope has its own numbers of changes.
      change = ofScopes.length === 0 ? done.change : 0;
    }
    changes = await realChanges(all);
    unchanged = all.length - changes.length;
  }
  const { created, updated, deleted } = await countChanges(changes);
  return listedAnswer({
    desc: ImportUdmsResponseSchema,
    rest: create(ImportUdmsResponseSchema, {
      created,
      updated,
      deleted,
      unchanged,
      change,
      rows,
      faultCount,
      faults: faults.map((fault) => create(ImportFaultSchema, fault)),
    }),
    field: "changes",
    element: EntryChangeSchema,
    count: mostChanges === 0 ? changes.length : Math.min(mostChanges, changes.length),
    at: (i) => entryChange(changes[i] as EntryChange),
    jsonAt: (i) => entryChangeJson(changes[i] as EntryChange),
  });
}

async function read(
  context: ToolsContext,
  { text, format, map, select, delimiter, scope }: ImportUdmsRequest,
  caller: ImportCaller,
  task: Task,
): Promise<ImportResult> {
  task.step("reading", "characters", text.length);
  const scopes = new Map<string, string | undefined>();
  const checkScope = (of: string): string | undefined => {
    if (!scopes.has(of)) scopes.set(of, scopeFault(context, of, scope !== undefined));
    return scopes.get(of);
  };
  try {
    return await importEntries(chunksOf(text, task), {
      format: readFormat(format),
      map: readMap(map),
      parseKey: context.store().parseKey,
      checkScope,
      ownScope: context.scopeName,
      ...(select !== "" && { select: selectOf(context, select, caller) }),
      ...(delimiter !== "" && { csv: { delimiter } }),
    });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    throw badRequest([{ field: error.field, description: error.message }]);
  }
}

/** Returns the reason why a call cannot import rows of a scope; undefined where it can. */
function scopeFault(context: ToolsContext, scope: string, isReplacement: boolean): string | undefined {
  if (scope === context.scopeName) return undefined;
  if (context.scopeName !== undefined) {
    return `the row is of scope ${quote(scope)}, and the import is into scope ${quote(context.scopeName)}`;
  }
  if (isReplacement)
    return "rows of scopes are no part of what is replaced: import them without scope, or in their scope";
  const found = context.inScope(scope);
  if (found === undefined) return `there is no scope ${quote(scope)}`;
  try {
    found.current();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Groups entries: first those whose rows name no other scope, then those of each named scope. */
function byScope(
  context: ToolsContext,
  entries: readonly ExchangeEntry[],
): readonly [readonly ExchangeEntry[], readonly (readonly [ToolsContext, readonly ExchangeEntry[]])[]] {
  const found = new Map<ToolsContext, ExchangeEntry[]>();
  const contexts = new Map<string, ToolsContext>();
  if (entries.every(({ scope }) => scope === undefined)) return [entries, []];
  const own: ExchangeEntry[] = [];
  for (const entry of entries) {
    const { scope } = entry;
    if (scope === undefined || scope === context.scopeName) {
      own.push(entry);
      continue;
    }
    const of = contexts.get(scope) ?? context.inScope(scope);
    // The scope was removed after its first row was read.
    if (of === undefined) throw badRequest([{ field: "scope", description: `there is no scope ${quote(scope)}` }]);
    contexts.set(scope, of);
    const there = found.get(of) ?? [];
    found.set(of, there);
    there.push(entry);
  }
  return [own, [...found]];
}

function selectOf(
  { select }: ToolsContext,
  expression: string,
  { signal }: ImportCaller,
): (text: string) => AsyncIterable<string> {
  if (select === undefined) throw new ExchangeError("select", "expressions are not evaluated here");
  return (text) => select(text, expression, signal);
}

function* chunksOf(text: string, task: Task): Iterable<Uint8Array> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + chunkLength);
    // Do not split a surrogate pair.
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
    yield Buffer.from(text.slice(at, end));
    at = end;
    task.reached(at);
  }
}

/** Reads a column map from its name, or from JSON. @throws ExchangeError */
function readMap(text: string): ColumnMap {
  if (text === "") return readColumnMap(undefined);
  if (!text.trimStart().startsWith("{")) return readColumnMap(text);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new ExchangeError("map", `map is not JSON: ${(error as Error).message}`);
  }
  return readColumnMap(given);
}

async function byKey(entries: readonly ExchangeEntry[]): Promise<ReadonlyMap<string, RequestedEntry>> {
  const wanted = new Map<string, RequestedEntry>();
  for (const [i, entry] of entries.entries()) {
    if (i % entriesPerTurn === entriesPerTurn - 1) await turn();
    wanted.set(entry.key.text, requested(entry));
  }
  return wanted;
}

const noContexts: RequestedEntry["contexts"] = [];

function requested(entry: ExchangeEntry): RequestedEntry {
  const { contexts = noContexts, otherFields, key, name, tags, vlan, internal, metadata } = entry;
  const values = { key, name, tags, vlan, internal, metadata };
  return { entry: values, contexts, ...(otherFields !== undefined && { otherFields }) };
}

function refused({ faults, faultCount }: ImportResult): Error {
  const violations = faults
    .slice(0, maxViolations)
    .map((fault) => ({ field: placeOf(fault), description: fault.reason }));
  const [first] = violations;
  const more = faultCount - violations.length;
  if (more > 0 && first !== undefined) {
    violations.push({ field: "", description: `${more} further faults; a dry run lists up to 1000` });
  }
  return badRequest(violations);
}

function placeOf({ row, column, field }: ImportFault): string {
  const parts = [
    `row ${row}`,
    ...(column === "" ? [] : [`column ${JSON.stringify(column)}`]),
    ...(field === "" ? [] : [field]),
  ];
  return parts.join(", ");
}

async function upsert(
  context: ToolsContext,
  entries: readonly ExchangeEntry[],
  dryRun: boolean,
  caller: ToolsCaller,
  task: Task,
): Promise<{ readonly changes: readonly EntryChange[]; readonly change: number }> {
  const index = context.current();
  const changes: EntryChange[] = [];
  if (dryRun) {
    for (const entry of entries) {
      if (changes.length % elementsPerTurn === elementsPerTurn - 1) {
        task.reached(changes.length);
        await turn();
      }
      const before = index.get(entry.key);
      changes.push({ before, after: afterReplacement(before, requested(entry)) });
    }
    return { changes, change: 0 };
  }
  const writes: UdmWrite[] = [];
  for (const [i, entry] of entries.entries()) {
    if (i % entriesPerTurn === entriesPerTurn - 1) await turn();
    const edit: EditWrite["edit"] = (before) => {
      const after = afterReplacement(before, requested(entry));
      changes[i] = { before, after };
      return { entry: after };
    };
    writes.push({ op: "edit", key: entry.key, edit });
  }
  task.step("saving", "entries", writes.length);
  const change = await context.commit(method, writes, caller, (i) => `entries[${i}].`);
  return { changes, change };
}
