import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { apiError, type FieldViolation, violationsError } from "../api-error.ts";
import {
  maxItems,
  udmFields,
  type UdmField,
  udmJson,
  type EntryTexts,
  type UdmEntry,
  type UdmIndex,
  type UdmSelection,
  type WriteOrigin,
  maxViolations,
  UdmError,
  checkUdm,
  keyReaders,
  type ReadKey,
  type UdmStore,
  type UdmWrite,
} from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import { headerOf, type Waiting } from "../http/call.ts";
import type { CallContext } from "../rpc/method.ts";
import { KeyError, type Key } from "../../base/ip/index.ts";
import type {
  BatchCreateUdmsRequest,
  BatchUpdateUdmsRequest,
  CreateUdmRequest,
  DeleteUdmRequest,
  ListUdmKeysRequest,
  ListUdmsRequest,
  Udm,
  UpdateUdmRequest,
} from "../gen/udm/v1/udm_pb.ts";

const setting = "SVC_API_MAX_BATCH_SIZE";

/** Checks the length of a batch. @throws ConnectError `resource_exhausted` for a batch that is too long. */
export function requireBatchSize(length: number, most: number): void {
  if (length <= most) return;
  const message = `the batch has ${length} entries: ${setting} allows ${most}; send several batches`;
  throw apiError("resource_exhausted", "BATCH_TOO_LARGE", message, { metadata: { setting, limit: String(most) } });
}

/**
 * Returns the fields that an update changes. Undefined means all fields (no mask, an empty one, or `*`). `key` has no effect
 * in a mask and is left out; a mask of only `key` gives an empty list.
 *
 * @param more further names that the method accepts, for the message.
 * @returns the fields, or violations for unknown names. The field of each violation ends in the given path.
 */
export function parseUpdateMask(
  mask: FieldMask | undefined,
  path: string,
  more: readonly string[] = [],
): { fields: readonly UdmField[] | undefined } | { violations: FieldViolation[] } {
  const paths = mask?.paths ?? [];
  if (paths.length === 0 || (paths.length === 1 && paths[0] === "*")) return { fields: undefined };
  if (paths.length > maxItems) {
    return { violations: [{ field: path, description: `${path} has ${paths.length} names, more than ${maxItems}` }] };
  }
  const known = new Set<string>(udmFields);
  const bad = [...new Set(paths)].filter((name) => name !== "key" && !known.has(name));
  if (bad.length > 0) {
    return { violations: bad.map((name) => ({ field: path, description: describe(name, more) })) };
  }
  return { fields: udmFields.filter((field) => paths.includes(field)) };
}

function describe(name: string, more: readonly string[]): string {
  if (name === "*") return '"*" must stand alone';
  const root = name.split(".")[0] ?? "";
  if (name.includes(".") && (udmFields as readonly string[]).includes(root)) {
    return `${quote(name)} is a path below a field: name the field ${root} itself`;
  }
  return `${quote(name)} is not a field: expected ${[...udmFields, ...more].join(", ")}`;
}

/** The form of each entry in an answer: the whole entry or its key. */
export type ListItems = "udms" | "keys";

/** The entries of one snapshot in list order, as stored texts. Each call begins at the first entry. Its result can be iterated once. */
export interface EntryList {
  /** Yields the JSON texts, up to {@link portionBytes} at a time. */
  texts(): Iterable<EntryTexts>;
  /** Yields the texts as JSON with commas between them, in chunks of up to {@link portionBytes}. */
  rendered(items: ListItems): Iterable<Uint8Array>;
}

/** The bytes of JSON that are processed at a time: some hundred entries, in less than a millisecond. */
export const portionBytes = 32_768;

/** Returns selected entries of an index. */
export function listOf(index: UdmIndex, selection: UdmSelection): EntryList {
  return new IndexList(index, selection);
}

/** Returns a list of the given entries. */
export function listOfEntries(entries: readonly UdmEntry[]): EntryList {
  return { texts: () => textsOf(entries), rendered: (items) => renderedOf(entries, items) };
}

/** A list of an index. It is a class, because new closures would cost too much for each call. */
class IndexList implements EntryList {
  readonly #index: UdmIndex;
  readonly #selection: UdmSelection;

  constructor(index: UdmIndex, selection: UdmSelection) {
    this.#index = index;
    this.#selection = selection;
  }

  texts(): Iterable<EntryTexts> {
    return this.#index.jsonTexts(this.#selection, portionBytes);
  }

  rendered(items: ListItems): Iterable<Uint8Array> {
    return this.#index.render(this.#selection, items === "udms" ? "json" : "key", ",", portionBytes);
  }
}

function* textsOf(entries: readonly UdmEntry[]): Generator<EntryTexts, void> {
  for (let i = 0; i < entries.length;) {
    const texts: Buffer[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    let size = 0;
    for (; i < entries.length && size < portionBytes; i++) {
      const text = Buffer.from(udmJson(entries[i] as UdmEntry));
      texts.push(text);
      starts.push(size);
      size += text.length;
      ends.push(size);
    }
    yield { bytes: Buffer.concat(texts), starts, ends, count: starts.length };
  }
}

function* renderedOf(entries: readonly UdmEntry[], items: ListItems): Generator<Uint8Array, void> {
  for (let i = 0; i < entries.length;) {
    let text = "";
    for (; i < entries.length && text.length < portionBytes; i++) {
      const entry = entries[i] as UdmEntry;
      text += (i === 0 ? "" : ",") + (items === "udms" ? udmJson(entry) : JSON.stringify(entry.key.text));
    }
    yield Buffer.from(text);
  }
}

/** The part of a call that identifies the origin of a write. */
export type WriteCaller = Pick<CallContext, "headers" | "peer" | "principal">;

/** Returns the origin of a write, for the log and the history. */
export function originOf(method: string, { headers, peer, principal }: WriteCaller): WriteOrigin {
  return {
    method,
    ...(principal !== undefined && { user: principal.name }),
    ...(peer !== undefined && { peer }),
    ...(headerOf(headers, "user-agent")?.startsWith("netgloss") === true && { author: "cli" }),
  };
}

/** Returns the error for violations. @param violations at least one. */
export function badRequest(violations: readonly FieldViolation[]): ConnectError {
  return violationsError("invalid_argument", "INVALID_FIELD", violations.slice(0, maxViolations));
}

/** Reads the key of a field. @param parse reads keys of the store, by default addresses. @throws ConnectError `invalid_argument` */
export function requestKey(text: string, field = "key", parse: ReadKey = keyReaders.addresses): Key {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    throw badRequest([{ field, description: error.message }]);
  }
}

const reasons = {
  invalid_argument: "INVALID_FIELD",
  not_found: "KEY_NOT_FOUND",
  already_exists: "KEY_EXISTS",
  failed_precondition: "CHANGED_MEANWHILE",
  unavailable: "STORE_UNAVAILABLE",
  resource_exhausted: "LIMIT_EXCEEDED",
} as const;

/**
 * Converts an error of the store to one of the API. Any error that is not a refusal stays unchanged, because it is an internal fault.
 *
 * @param fieldPath returns the prefix of the fields of the n-th write.
 */
export function toApiError(error: unknown, fieldPath: (index: number) => string): unknown {
  if (!(error instanceof UdmError)) return error;
  const { code, message } = error;
  if (error.violations.length === 0) return apiError(code, reasons[code], message);
  const violations = error.violations.map(({ index, field, description }) => ({
    field: `${fieldPath(index)}${field}`,
    description,
  }));
  return violationsError(code, reasons[code], violations);
}

/** The store of the metadata, or a sentence about the missing setting. */
export type UdmSource = UdmStore | { readonly disabled: string };

/** The selection of a list: all entries, one entry, or the entries related to a key. */
type ListSelector = Omit<ListUdmsRequest | ListUdmKeysRequest, "$typeName">;

/** A caller that waits for a write. */
type Caller = Waiting & WriteCaller;

/** Returns the path of the n-th write of a request: empty, or `requests[n].`. */
type PathOf = (index: number) => string;

const single: PathOf = () => "";
const batch: PathOf = (index) => `requests[${index}].`;

/** The number of writes of a batch that are checked before the service yields to other requests. */
const checkedPerTurn = 100;

/**
 * The eight methods, independent of the transport. Each throws a ConnectError by the table of docs/api.md. `caller` shows whether
 * somebody still waits for the answer. If not, a write that has not begun is dropped.
 *
 * @param maxBatchSize the most elements of a batch.
 */
export class UdmService {
  readonly #source: UdmSource;
  readonly #maxBatchSize: number;

  constructor(source: UdmSource, maxBatchSize: number) {
    this.#source = source;
    this.#maxBatchSize = maxBatchSize;
  }

  /** Is called before a request is processed. @throws ConnectError `unimplemented` when the API is not enabled. */
  requireEnabled(): void {
    this.#store();
  }

  countUdms(): number {
    return Math.min(this.#current().size, 0x7fffffff);
  }

  /** Returns the entries of one snapshot in list order. */
  listUdms(request: ListSelector): EntryList {
    return listOf(this.#current(), selectionOf(request, this.#store().parseKey));
  }

  async createUdm(request: CreateUdmRequest, caller: Caller): Promise<UdmEntry> {
    return first(await this.#writeAll("CreateUdm", "create", [request.udm], undefined, caller, single));
  }

  async batchCreateUdms(request: BatchCreateUdmsRequest, caller: Caller): Promise<readonly UdmEntry[]> {
    return this.#writeAll(
      "BatchCreateUdms",
      "create",
      request.requests.map((element) => element.udm),
      undefined,
      caller,
      batch,
    );
  }

  async updateUdm(request: UpdateUdmRequest, caller: Caller): Promise<UdmEntry> {
    const fields = this.#maskedFields(request.updateMask);
    return first(await this.#writeAll("UpdateUdm", "update", [request.udm], fields, caller, single));
  }

  async batchUpdateUdms(request: BatchUpdateUdmsRequest, caller: Caller): Promise<readonly UdmEntry[]> {
    const fields = this.#maskedFields(request.updateMask);
    return this.#writeAll(
      "BatchUpdateUdms",
      "update",
      request.requests.map((element) => element.udm),
      fields,
      caller,
      batch,
    );
  }

  async deleteUdm(request: DeleteUdmRequest, caller: Caller): Promise<void> {
    const key = requestKey(request.key, "key", this.#store().parseKey);
    await this.#commit("DeleteUdm", [{ op: "delete", key }], caller, single);
  }

  #store(): UdmStore {
    if ("disabled" in this.#source) throw apiError("unimplemented", "API_DISABLED", this.#source.disabled);
    return this.#source;
  }

  #current(): UdmIndex {
    try {
      return this.#store().current();
    } catch (error) {
      throw toApiError(error, single);
    }
  }

  async #commit(
    method: string,
    writes: readonly UdmWrite[],
    caller: Caller,
    fieldPath: (index: number) => string,
  ): Promise<readonly UdmEntry[]> {
    caller.throwIfAborted();
    try {
      return await this.#store().commit(writes, originOf(method, caller));
    } catch (error) {
      throw toApiError(error, fieldPath);
    }
  }

  /** Creates or updates each element, or throws an error with all violations. */
  async #writeAll(
    method: string,
    op: "create" | "update",
    udms: readonly (Udm | undefined)[],
    fields: readonly UdmField[] | undefined,
    caller: Caller,
    pathOf: PathOf,
  ): Promise<readonly UdmEntry[]> {
    const { parseKey } = this.#store();
    requireBatchSize(udms.length, this.#maxBatchSize);
    const writes: UdmWrite[] = [];
    const violations: FieldViolation[] = [];
    for (const [i, udm] of udms.entries()) {
      if (i % checkedPerTurn === checkedPerTurn - 1) await new Promise(setImmediate);
      const checked = checkWrite(op, udm, fields, parseKey);
      if ("write" in checked) writes.push(checked.write);
      else
        violations.push(
          ...checked.violations.map(({ field, description }) => ({ field: `${pathOf(i)}${field}`, description })),
        );
      if (violations.length >= maxViolations) break;
    }
    if (violations.length > 0) throw badRequest(violations);
    if (writes.length === 0) return [];
    return this.#commit(method, writes, caller, (index) => `${pathOf(index)}udm.`);
  }

  #maskedFields(mask: UpdateUdmRequest["updateMask"]): readonly UdmField[] | undefined {
    this.#store();
    const parsed = parseUpdateMask(mask, "update_mask");
    if ("violations" in parsed) throw badRequest(parsed.violations);
    return parsed.fields;
  }
}

/** Returns the selection of a list. @throws ConnectError `invalid_argument` for a key that cannot be parsed. */
function selectionOf({ key: text, exact }: ListSelector, parse: ReadKey | undefined): UdmSelection {
  if (text === "") return "all";
  const key = requestKey(text, "key", parse);
  if (exact) return { key };
  return key.kind === "ip" ? { covering: { family: key.family, value: key.first } } : { within: key };
}

function checkWrite(
  op: "create" | "update",
  udm: Udm | undefined,
  fields: readonly UdmField[] | undefined,
  parse: ReadKey | undefined,
): { write: UdmWrite } | { violations: readonly FieldViolation[] } {
  if (udm === undefined)
    return { violations: [{ field: "udm", description: "udm is missing: it must hold a key at least" }] };
  const { key, name, tags, vlan, internal } = udm;
  const metadata = new Map(Object.entries(udm.metadata));
  const checked = checkUdm({ key, name, tags, vlan, internal, metadata }, fields, parse);
  if (!checked.ok) {
    return {
      violations: checked.violations.map(({ field, description }) => ({ field: `udm.${field}`, description })),
    };
  }
  if (op === "create") return { write: { op, key: checked.key, values: checked.values } };
  return { write: { op, key: checked.key, values: checked.values, ...(fields === undefined ? {} : { fields }) } };
}

function first(entries: readonly UdmEntry[]): UdmEntry {
  const [entry] = entries;
  if (entry === undefined) throw new Error("the store answered a write without an entry");
  return entry;
}
