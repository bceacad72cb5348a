import { create } from "@bufbuild/protobuf";
import {
  checkUdm,
  isChange,
  maxItems,
  maxViolations,
  otherFields,
  udmJson,
  udmContexts,
  withContexts,
  withOtherFields,
  type EntryChange,
  type UdmContext,
  type UdmEntry,
  type UdmField,
} from "../../../metadata/index.ts";
import { quote } from "../../../base/text/index.ts";
import type { FieldViolation } from "../../error/api-error.ts";
import { turn } from "./tools-context.ts";
import {
  EntryChangeSchema,
  FullUdmSchema,
  type EntryChange as EntryChangeMessage,
  type FullUdm,
} from "../../gen/udm/v1/tools_pb.ts";

/** Changes compared between turns of the event loop. */
const changesPerTurn = 2000;

/** The message of an entry. @param layer "" for what people write. */
export function fullUdm(entry: UdmEntry, layer = ""): FullUdm {
  const { key, name, tags, vlan, internal, metadata, fileOnly } = entry;
  // Without a prototype `__proto__` is a key like any other.
  const pairs = Object.create(null) as Record<string, string>;
  for (const [at, value] of metadata) pairs[at] = value;
  return create(FullUdmSchema, {
    key: key.text,
    name,
    tags: [...tags],
    vlan,
    internal,
    metadata: pairs,
    layer,
    ...(fileOnly !== undefined && { contexts: [...(fileOnly.contexts ?? [])], otherFields: otherFields(entry) }),
  });
}

/** The JSON of {@link fullUdm}, many times faster than by way of the message. */
export function fullUdmJson(entry: UdmEntry, layer = ""): string {
  const { fileOnly } = entry;
  const json = udmJson(entry);
  if (fileOnly === undefined && layer === "") return json;
  let more = "";
  const contexts = fileOnly?.contexts ?? [];
  if (contexts.length > 0) more += `,"contexts":${JSON.stringify(contexts)}`;
  const others = fileOnly === undefined ? "" : otherFields(entry);
  if (others !== "") more += `,"otherFields":${JSON.stringify(others)}`;
  if (layer !== "") more += `,"layer":${JSON.stringify(layer)}`;
  return `${json.slice(0, -1)}${more}}`;
}

/** The JSON of {@link entryChange}. */
export function entryChangeJson({ before, after }: EntryChange, layer = ""): string {
  let json = `{"key":${JSON.stringify((after ?? before)?.key.text ?? "")}`;
  if (before !== undefined) json += `,"before":${fullUdmJson(before, layer)}`;
  if (after !== undefined) json += `,"after":${fullUdmJson(after, layer)}`;
  return `${json}}`;
}

export function entryChange({ before, after }: EntryChange, layer = ""): EntryChangeMessage {
  return create(EntryChangeSchema, {
    key: (after ?? before)?.key.text ?? "",
    ...(before !== undefined && { before: fullUdm(before, layer) }),
    ...(after !== undefined && { after: fullUdm(after, layer) }),
  });
}

/** What a request says of an entry. */
export interface RequestedEntry {
  readonly entry: UdmEntry;
  /** As the request has them, where it names any. */
  readonly contexts: readonly UdmContext[];
  /** Of an import, where it says any. */
  readonly otherFields?: string;
}

/**
 * Checks an entry of a request by the rules of the eight methods, and its contexts.
 *
 * @param fields those that the request changes.
 * @returns the entry without its contexts; or all that is wrong, the fields without their path.
 */
export function readFullUdm(
  udm: FullUdm | undefined,
  fields?: readonly UdmField[],
): RequestedEntry | { readonly violations: readonly FieldViolation[] } {
  if (udm === undefined)
    return { violations: [{ field: "", description: "udm is missing: it must hold a key at least" }] };
  const { key, name, tags, vlan, internal } = udm;
  const checked = checkUdm({ key, name, tags, vlan, internal, metadata: Object.entries(udm.metadata) }, fields);
  const faults = [...tooManyItems("contexts", udm.contexts)];
  for (const [i, text] of faults.length > 0 ? [] : udm.contexts.entries()) {
    if (!isContext(text) && faults.push(contextFault(text, i)) === maxViolations) break;
  }
  // An entry of a layer, as searches answer with it, is another entry than the one of the same key that people write.
  if (udm.layer !== "") {
    const description = `layer ${quote(udm.layer)} cannot be written: its entries come from the source of that name`;
    faults.push({ field: "layer", description });
  }
  if (!checked.ok) return { violations: [...checked.violations, ...faults] };
  if (faults.length > 0) return { violations: faults };
  return { entry: { key: checked.key, ...checked.values }, contexts: udm.contexts.filter(isContext) };
}

/** What is wrong with a list of a request that has more items than an entry may have. */
export function tooManyItems(field: string, items: readonly unknown[]): readonly FieldViolation[] {
  if (items.length <= maxItems) return [];
  return [{ field, description: `${field} has ${items.length} items, more than ${maxItems}` }];
}

function isContext(text: string): text is UdmContext {
  return (udmContexts as readonly string[]).includes(text);
}

function contextFault(text: string, i: number): FieldViolation {
  const description = `context ${quote(text)} is not known: expected ${udmContexts.join(", ")}`;
  return { field: `contexts[${i}]`, description };
}

/** The entry with its own contexts and other fields where it says any, else with what the file alone knows of the one before. */
export function afterReplacement(
  before: UdmEntry | undefined,
  { entry, contexts, otherFields: others }: RequestedEntry,
): UdmEntry {
  const kept = before?.fileOnly === undefined ? entry : { ...entry, fileOnly: before.fileOnly };
  const hasOthers = others !== undefined && others !== otherFields(kept);
  const whole = hasOthers ? withOtherFields(kept, others) : kept;
  return contexts.length === 0 ? whole : withContexts(whole, contexts);
}

/** What happened to how many entries. */
export interface ChangeCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
}

/** Takes several turns of the event loop when there are many. */
export async function countChanges(changes: readonly EntryChange[]): Promise<ChangeCounts> {
  const counts = { created: 0, updated: 0, deleted: 0, unchanged: 0 };
  for (const [i, change] of changes.entries()) {
    if (i % changesPerTurn === changesPerTurn - 1) await turn();
    if (!isChange(change)) counts.unchanged++;
    else if (change.before === undefined) counts.created++;
    else if (change.after === undefined) counts.deleted++;
    else counts.updated++;
  }
  return counts;
}

/** Those that make a difference. Takes several turns of the event loop when there are many. */
export async function realChanges(changes: readonly EntryChange[]): Promise<readonly EntryChange[]> {
  const real: EntryChange[] = [];
  for (const [i, change] of changes.entries()) {
    if (i % changesPerTurn === changesPerTurn - 1) await turn();
    if (isChange(change)) real.push(change);
  }
  return real;
}
