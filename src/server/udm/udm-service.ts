import {
  checkUdm,
  maxViolations,
  type UdmEntry,
  type UdmField,
  type UdmIndex,
  type UdmSelection,
  type UdmStore,
  type UdmWrite,
} from "../../metadata/index.ts";
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
import { apiError, type FieldViolation } from "../error/api-error.ts";
import type { Waiting } from "../http/call.ts";
import { requireBatchSize } from "./batch-size.ts";
import { listOf, type EntryList } from "./entry-list.ts";
import { parseUpdateMask } from "./parse-update-mask.ts";
import { badRequest, requestKey, toApiError } from "./store-fault.ts";
import { originOf, type WriteCaller } from "./write-origin.ts";

/** Where the metadata is, or why there is none: a sentence that says which setting is missing. */
export type UdmSource = UdmStore | { readonly disabled: string };

/**
 * The eight methods, whatever the transport. Each throws a ConnectError by the table of docs/api.md. `caller` says whether
 * somebody waits for the answer: a write that has not begun when nobody does does not happen.
 */
export interface UdmService {
  /** Called before a request is looked at. @throws ConnectError `unimplemented` when the API is not enabled. */
  requireEnabled(): void;
  countUdms(): number;
  /** The entries of one snapshot in list order. */
  listUdms(request: ListSelector): EntryList;
  createUdm(request: CreateUdmRequest, caller: Caller): Promise<UdmEntry>;
  batchCreateUdms(request: BatchCreateUdmsRequest, caller: Caller): Promise<readonly UdmEntry[]>;
  updateUdm(request: UpdateUdmRequest, caller: Caller): Promise<UdmEntry>;
  batchUpdateUdms(request: BatchUpdateUdmsRequest, caller: Caller): Promise<readonly UdmEntry[]>;
  deleteUdm(request: DeleteUdmRequest, caller: Caller): Promise<void>;
}

/** What a list is of: everything, one entry, or what is related to a key. */
export type ListSelector = Omit<ListUdmsRequest | ListUdmKeysRequest, "$typeName">;

/** Who waits for a write. */
type Caller = Waiting & WriteCaller;

/** Path of the n-th write of a request: empty, or `requests[n].`. */
type PathOf = (index: number) => string;

const single: PathOf = () => "";
const batch: PathOf = (index) => `requests[${index}].`;

/** How many writes of a batch are checked before other requests get a turn. */
const checkedPerTurn = 100;

/**
 * @param maxBatchSize most elements of a batch.
 */
export function createUdmService(source: UdmSource, maxBatchSize: number): UdmService {
  const store = (): UdmStore => {
    if ("disabled" in source) throw apiError("unimplemented", "API_DISABLED", source.disabled);
    return source;
  };

  const current = (): UdmIndex => {
    try {
      return store().current();
    } catch (error) {
      throw toApiError(error, single);
    }
  };

  const commit = async (
    method: string,
    writes: readonly UdmWrite[],
    caller: Caller,
    fieldPath: (index: number) => string,
  ): Promise<readonly UdmEntry[]> => {
    caller.throwIfAborted();
    try {
      return await store().commit(writes, originOf(method, caller));
    } catch (error) {
      throw toApiError(error, fieldPath);
    }
  };

  /** One create or update for each element, or an error with all that is wrong with them. */
  const writeAll = async (
    method: string,
    op: "create" | "update",
    udms: readonly (Udm | undefined)[],
    fields: readonly UdmField[] | undefined,
    caller: Caller,
    pathOf: PathOf,
  ): Promise<readonly UdmEntry[]> => {
    store();
    requireBatchSize(udms.length, maxBatchSize);
    const writes: UdmWrite[] = [];
    const violations: FieldViolation[] = [];
    for (const [i, udm] of udms.entries()) {
      if (i % checkedPerTurn === checkedPerTurn - 1) await new Promise(setImmediate);
      const checked = checkWrite(op, udm, fields);
      if ("write" in checked) writes.push(checked.write);
      else
        violations.push(
          ...checked.violations.map(({ field, description }) => ({ field: `${pathOf(i)}${field}`, description })),
        );
      if (violations.length >= maxViolations) break;
    }
    if (violations.length > 0) throw badRequest(violations);
    if (writes.length === 0) return [];
    return commit(method, writes, caller, (index) => `${pathOf(index)}udm.`);
  };

  const maskedFields = (mask: UpdateUdmRequest["updateMask"]): readonly UdmField[] | undefined => {
    store();
    const parsed = parseUpdateMask(mask, "update_mask");
    if ("violations" in parsed) throw badRequest(parsed.violations);
    return parsed.fields;
  };

  return {
    requireEnabled: () => void store(),

    countUdms: () => Math.min(current().size, 0x7fffffff),

    listUdms: (request) => listOf(current(), selectionOf(request)),

    async createUdm(request, caller) {
      return first(await writeAll("CreateUdm", "create", [request.udm], undefined, caller, single));
    },

    batchCreateUdms: async (request, caller) =>
      writeAll(
        "BatchCreateUdms",
        "create",
        request.requests.map((element) => element.udm),
        undefined,
        caller,
        batch,
      ),

    async updateUdm(request, caller) {
      const fields = maskedFields(request.updateMask);
      return first(await writeAll("UpdateUdm", "update", [request.udm], fields, caller, single));
    },

    async batchUpdateUdms(request, caller) {
      const fields = maskedFields(request.updateMask);
      return writeAll(
        "BatchUpdateUdms",
        "update",
        request.requests.map((element) => element.udm),
        fields,
        caller,
        batch,
      );
    },

    async deleteUdm(request, caller) {
      store();
      const key = requestKey(request.key);
      await commit("DeleteUdm", [{ op: "delete", key }], caller, single);
    },
  };
}

/** Which entries a list is of. @throws ConnectError `invalid_argument` for a key that cannot be parsed. */
function selectionOf({ key: text, exact }: ListSelector): UdmSelection {
  if (text === "") return "all";
  const key = requestKey(text);
  if (exact) return { key };
  return key.kind === "ip" ? { covering: { family: key.family, value: key.first } } : { within: key };
}

function checkWrite(
  op: "create" | "update",
  udm: Udm | undefined,
  fields: readonly UdmField[] | undefined,
): { write: UdmWrite } | { violations: readonly FieldViolation[] } {
  if (udm === undefined)
    return { violations: [{ field: "udm", description: "udm is missing: it must hold a key at least" }] };
  const { key, name, tags, vlan, internal } = udm;
  const metadata = new Map(Object.entries(udm.metadata));
  const checked = checkUdm({ key, name, tags, vlan, internal, metadata }, fields);
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
