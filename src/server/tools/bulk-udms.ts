import { create } from "@bufbuild/protobuf";
import { isDeepStrictEqual } from "node:util";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { KeyError } from "../../base/ip/index.ts";
import {
  maxViolations,
  type UdmWrite,
  checkValues,
  type ReadKey,
  udmFields,
  withContexts,
  type EntryChange,
  type UdmEntry,
  type UdmField,
  type UdmValues,
} from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import { type FieldViolation, apiError } from "../api-error.ts";
import {
  BatchDeleteUdmsResponseSchema,
  type BatchDeleteUdmsRequest,
  type BatchDeleteUdmsResponse,
  BatchUpsertUdmsResponseSchema,
  FullUdmSchema,
  type FullUdm,
  type BatchUpsertUdmsRequest,
  type UpsertUdmRequest,
} from "../gen/udm/v1/tools_pb.ts";
import { badRequest, requireBatchSize, parseUpdateMask } from "../udm/udm-service.ts";
import { elementsPerTurn, turn, type ToolsCaller, type ToolsContext, below } from "./tools-context.ts";
import type { Encodable } from "../rpc/protocol.ts";
import {
  afterReplacement,
  countChanges,
  fullUdm,
  readFullUdm,
  tooManyItems,
  type RequestedEntry,
  listedAnswer,
} from "./full-udm.ts";

export async function batchDeleteUdms(
  context: ToolsContext,
  { keys, ignoreMissing }: BatchDeleteUdmsRequest,
  caller: ToolsCaller,
): Promise<BatchDeleteUdmsResponse> {
  context.store();
  requireBatchSize(keys.length, context.maxBatchSize);
  const writes: UdmWrite[] = [];
  const violations: FieldViolation[] = [];
  let deleted = 0;
  for (const [i, text] of keys.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    try {
      const key = context.readKey(text);
      writes.push({
        op: "edit",
        key,
        edit(found) {
          if (found !== undefined) deleted++;
          else if (!ignoreMissing) {
            return { refused: "not_found", field: "", description: `key ${quote(key.text)} does not exist` };
          }
          return { entry: undefined };
        },
      });
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      if (violations.push({ field: `keys[${i}]`, description: error.message }) === maxViolations) break;
    }
  }
  if (violations.length > 0) throw badRequest(violations);
  const change = await context.commit("BatchDeleteUdms", writes, caller, (i) => `keys[${i}]`);
  return create(BatchDeleteUdmsResponseSchema, { deleted, change });
}

type EditWrite = Extract<UdmWrite, { op: "edit" }>;

/** The values that an element sets; undefined for all. */
interface Mask {
  readonly fields: readonly UdmField[] | undefined;
  readonly hasContexts: boolean;
}

export async function batchUpsertUdms(
  context: ToolsContext,
  { requests, updateMask, dryRun }: BatchUpsertUdmsRequest,
  caller: ToolsCaller,
): Promise<Encodable> {
  context.store();
  requireBatchSize(requests.length, context.maxBatchSize);
  const mask = readMask(updateMask);
  const done: EntryChange[] = [];
  const writes: EditWrite[] = [];
  const violations: FieldViolation[] = [];
  for (const [i, request] of requests.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    const read = readUpsert(request, mask, context.store().parseKey);
    if ("violations" in read) violations.push(...below(`requests[${i}]`, read.violations));
    else writes.push(editOf(read, i, done));
    if (violations.length >= maxViolations) break;
  }
  if (violations.length > 0) throw badRequest(violations);
  const change = dryRun
    ? await tryEdits(context, writes)
    : await context.commit("BatchUpsertUdms", writes, caller, (i) => `requests[${i}].`);
  const { created, updated, unchanged } = await countChanges(done);
  return listedAnswer({
    desc: BatchUpsertUdmsResponseSchema,
    rest: create(BatchUpsertUdmsResponseSchema, { created, updated, unchanged, change }),
    field: "udms",
    element: FullUdmSchema,
    count: done.length,
    at: (i) => fullUdm(done[i]?.after as UdmEntry),
  });
}

function readMask(mask: FieldMask | undefined): Mask | undefined {
  const paths = mask?.paths ?? [];
  const hasContexts = paths.includes("contexts");
  const others = paths.filter((path) => path !== "contexts");
  if (hasContexts && others.length === 0) return { fields: [], hasContexts };
  const parsed = parseUpdateMask(mask && { ...mask, paths: others }, "update_mask", ["contexts"]);
  if ("violations" in parsed) throw badRequest(parsed.violations);
  return parsed.fields === undefined ? undefined : { fields: parsed.fields, hasContexts };
}

interface Upsert {
  readonly requested: RequestedEntry;
  /** The mask; undefined where all values are replaced. */
  readonly mask: Mask | undefined;
  readonly request: UpsertUdmRequest;
}

function readUpsert(
  request: UpsertUdmRequest,
  given: Mask | undefined,
  parse: ReadKey | undefined,
): Upsert | { readonly violations: readonly FieldViolation[] } {
  const { udm, addTags, removeTags, setMetadata, removeMetadata } = request;
  const isSingle =
    addTags.length + removeTags.length + removeMetadata.length > 0 || Object.keys(setMetadata).length > 0;
  const mask = given ?? (isSingle ? { fields: [], hasContexts: false } : undefined);
  const requested = readFullUdm(udm, mask?.fields, parse);
  const faults = singleFaults(request);
  if (!("violations" in requested)) return faults.length === 0 ? { requested, mask, request } : { violations: faults };
  return { violations: [...below("udm", requested.violations), ...faults] };
}

/** Returns the violations of individually added tags and metadata. */
function singleFaults({
  udm,
  addTags,
  removeTags,
  setMetadata,
  removeMetadata,
}: UpsertUdmRequest): readonly FieldViolation[] {
  const none = { name: "", vlan: 0n, internal: false };
  const faults = checkValues(
    { ...none, tags: addTags, metadata: Object.entries(setMetadata) },
    ["tags", "metadata"],
    udm?.key,
  );
  return [
    ...faults.map(({ field, description }) => ({
      field: field.replace(/^tags/, "add_tags").replace(/^metadata/, "set_metadata"),
      description,
    })),
    ...tooManyItems("remove_tags", removeTags),
    ...tooManyItems("remove_metadata", removeMetadata),
  ];
}

function editOf(upsert: Upsert, i: number, done: EntryChange[]): EditWrite {
  return {
    op: "edit",
    key: upsert.requested.entry.key,
    edit(before) {
      const { expected } = upsert.request;
      if (expected !== undefined && !saysTheSame(before, expected)) {
        const { key } = upsert.requested.entry;
        const what = before === undefined ? "is gone" : expected.key === "" ? "was created" : "was changed";
        const description = `key ${quote(key.text)} ${what} meanwhile`;
        return { refused: "failed_precondition", field: "expected", description };
      }
      const after = apply(upsert, before);
      done[i] = { before, after };
      return { entry: after };
    },
  };
}

/** Reports whether an entry is still the same as the one that a client has seen. */
function saysTheSame(found: UdmEntry | undefined, expected: FullUdm): boolean {
  if (found === undefined || expected.key === "") return found === undefined && expected.key === "";
  const { name, tags, vlan, internal, metadata, contexts } = fullUdm(found);
  const names = Object.keys(metadata);
  return (
    name === expected.name &&
    vlan === expected.vlan &&
    internal === expected.internal &&
    isDeepStrictEqual(tags, expected.tags) &&
    isDeepStrictEqual(contexts.toSorted(), expected.contexts.toSorted()) &&
    names.length === Object.keys(expected.metadata).length &&
    names.every((one) => metadata[one] === expected.metadata[one])
  );
}

function apply({ requested, mask, request }: Upsert, before: UdmEntry | undefined): UdmEntry {
  const { entry, contexts } = requested;
  if (mask === undefined) return afterReplacement(before, requested);
  const old = before ?? { ...emptyValues, key: entry.key };
  const fields = mask.fields ?? udmFields;
  const values = Object.fromEntries(fields.map((field) => [field, entry[field]])) as Partial<UdmValues>;
  const changed = { ...old, ...values };
  const tags = changed.tags.filter((tag) => !request.removeTags.includes(tag));
  for (const tag of request.addTags) if (!tags.includes(tag)) tags.push(tag);
  const metadata = new Map(changed.metadata);
  for (const name of request.removeMetadata) metadata.delete(name);
  for (const [name, value] of Object.entries(request.setMetadata)) metadata.set(name, value);
  const after = { ...changed, tags, metadata };
  return mask.hasContexts ? withContexts(after, contexts) : after;
}

const emptyValues: UdmValues = { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() };

/** Runs edits without a commit. The edits record their effects. */
async function tryEdits(context: ToolsContext, writes: readonly EditWrite[]): Promise<number> {
  const current = context.current();
  const refused: FieldViolation[] = [];
  const firstByKey = new Map<string, number>();
  const violations: FieldViolation[] = [];
  for (const [i, { key, edit }] of writes.entries()) {
    if (i % elementsPerTurn === elementsPerTurn - 1) await turn();
    const earlier = firstByKey.get(key.text);
    if (earlier === undefined) firstByKey.set(key.text, i);
    else {
      const description = `key ${quote(key.text)} is already in the batch, at position ${earlier}`;
      violations.push({ field: `requests[${i}].key`, description });
    }
    const edited = edit(current.get(key));
    if ("refused" in edited) refused.push({ field: `requests[${i}].${edited.field}`, description: edited.description });
  }
  if (violations.length > 0) throw badRequest(violations);
  const [first] = refused;
  if (first === undefined) return 0;
  throw apiError("failed_precondition", "CHANGED_MEANWHILE", first.description, {
    violations: refused.slice(0, maxViolations),
  });
}
