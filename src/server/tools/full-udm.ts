import { setImmediate } from "node:timers/promises";
import { toBinary, toJsonString, type DescMessage, type MessageShape, create } from "@bufbuild/protobuf";
import { encode, type CodecName, type Encodable, type Encoded, type LongMessage } from "../rpc/protocol.ts";
import { varintSize, writeVarint } from "../udm/udm-transcoder.ts";
import {
  checkUdm,
  type ReadKey,
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
} from "../../metadata/index.ts";
import { quote } from "../../base/text/index.ts";
import type { FieldViolation } from "../api-error.ts";
import { turn } from "./tools-context.ts";
import {
  EntryChangeSchema,
  FullUdmSchema,
  type EntryChange as EntryChangeMessage,
  type FullUdm,
} from "../gen/udm/v1/tools_pb.ts";

/** The elements that are made at once. */
const elementsAtOnce = 100;

/** A message with a list that may be long. */
interface ListedMessage<D extends DescMessage, E extends DescMessage> {
  readonly desc: D;
  /** The message with an empty list. */
  readonly rest: MessageShape<D>;
  /** The name of the list, a field of messages with a number below 16. */
  readonly field: keyof MessageShape<D> & string;
  readonly element: E;
  readonly count: number;
  /** Returns an element, which is made on demand. */
  readonly at: (i: number) => MessageShape<E>;
  /** Returns the JSON of an element, where it is known without the message. */
  readonly jsonAt?: ((i: number) => string) | undefined;
}

/** Returns the answer for a message with a list, encoded at once if the list is short, otherwise in chunks. */
export function listedAnswer<D extends DescMessage, E extends DescMessage>(message: ListedMessage<D, E>): Encodable {
  return { encode: (codec) => encodeListed(codec, message) };
}

function encodeListed<D extends DescMessage, E extends DescMessage>(
  codec: CodecName,
  message: ListedMessage<D, E>,
): Encoded {
  const { desc, rest, field, count, at, jsonAt } = message;
  if (count <= elementsAtOnce) {
    if (codec === "json" && jsonAt !== undefined && count > 0) {
      return Buffer.concat([...jsonChunks(message)()]).toString();
    }
    return encode(codec, desc, { ...rest, [field]: Array.from({ length: count }, (_, i) => at(i)) });
  }
  return longMessage(codec === "json" ? jsonChunks(message) : protoChunks(message));
}

/**
 * Returns a message that is made in chunks, in several turns of the event loop.
 *
 * @param chunks returns the chunks. A chunk may be empty where its content follows with a later one.
 * @param isShared true where several clients get it. It is then made once for all of them, even if some disconnect.
 */
export function longMessage(chunks: () => Iterable<Buffer>, isShared = false): LongMessage {
  let made: Buffer[] | undefined;
  let making: Promise<number | undefined> | undefined;
  const make = async (isWanted: () => boolean): Promise<number | undefined> => {
    const parts: Buffer[] = [];
    let size = 0;
    for (const chunk of chunks()) {
      if (chunk.length > 0) parts.push(chunk);
      size += chunk.length;
      await setImmediate();
      if (!isWanted()) return undefined;
    }
    made = parts;
    return size;
  };
  return {
    size: (isWanted) => (isShared ? (making ??= make(() => true)) : make(isWanted)),
    chunks: () => made ?? chunks(),
  };
}

/** Returns the tag and the length of a field of bytes with a number below 16. */
export function fieldHead(number: number, length: number): Buffer {
  const head = Buffer.alloc(1 + varintSize(length));
  head[0] = (number << 3) | 2;
  writeVarint(length, head, 1);
  return head;
}

function jsonChunks<D extends DescMessage, E extends DescMessage>(
  message: ListedMessage<D, E>,
): () => Iterable<Buffer> {
  const { desc, rest, field, element, count, at, jsonAt = (i) => toJsonString(element, at(i)) } = message;
  return function* () {
    const name = desc.field[field]?.jsonName ?? field;
    for (let i = 0; i < count; i += elementsAtOnce) {
      let text = i === 0 ? `{"${name}":[` : ",";
      const end = Math.min(count, i + elementsAtOnce);
      for (let n = i; n < end; n++) text += `${n === i ? "" : ","}${jsonAt(n)}`;
      yield Buffer.from(text);
    }
    const others = toJsonString(desc, rest).slice(1);
    yield Buffer.from(others === "}" ? "]}" : `],${others}`);
  };
}

function protoChunks<D extends DescMessage, E extends DescMessage>(
  message: ListedMessage<D, E>,
): () => Iterable<Buffer> {
  const { desc, rest, field, element, count, at } = message;
  return function* () {
    const number = desc.field[field]?.number ?? 0;
    for (let i = 0; i < count; i += elementsAtOnce) {
      const parts: Uint8Array[] = [];
      for (let n = i; n < Math.min(count, i + elementsAtOnce); n++) {
        const bytes = toBinary(element, at(n));
        parts.push(fieldHead(number, bytes.length), bytes);
      }
      yield Buffer.concat(parts);
    }
    yield Buffer.from(toBinary(desc, rest));
  };
}

/** The changes that are compared in one turn of the event loop. */
const changesPerTurn = 2000;

/** Returns the message of an entry. @param layer "" for entries that people write. */
export function fullUdm(entry: UdmEntry, layer = ""): FullUdm {
  const { key, name, tags, vlan, internal, metadata, fileOnly } = entry;
  // Without a prototype, `__proto__` is an ordinary key.
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

/** Returns the JSON of {@link fullUdm}, many times faster than from the message. */
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

/** Returns the JSON of {@link entryChange}. */
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

/** An entry as a request describes it. */
export interface RequestedEntry {
  readonly entry: UdmEntry;
  /** The contexts of the request, if it names any. */
  readonly contexts: readonly UdmContext[];
  /** The unknown fields of an import, if it has any. */
  readonly otherFields?: string;
}

/**
 * Checks an entry of a request by the rules of the eight methods, and its contexts.
 *
 * @param fields the fields that the request changes.
 * @param parse reads its key, by default one of addresses.
 * @returns the entry without its contexts, or all violations, whose fields have no path.
 */
export function readFullUdm(
  udm: FullUdm | undefined,
  fields?: readonly UdmField[],
  parse?: ReadKey,
): RequestedEntry | { readonly violations: readonly FieldViolation[] } {
  if (udm === undefined)
    return { violations: [{ field: "", description: "udm is missing: it must hold a key at least" }] };
  const { key, name, tags, vlan, internal } = udm;
  const checked = checkUdm({ key, name, tags, vlan, internal, metadata: Object.entries(udm.metadata) }, fields, parse);
  const faults = [...tooManyItems("contexts", udm.contexts)];
  for (const [i, text] of faults.length > 0 ? [] : udm.contexts.entries()) {
    if (!isContext(text) && faults.push(contextFault(text, i)) === maxViolations) break;
  }
  // An entry of a layer, which searches may return, differs from the entry of the same key that people write.
  if (udm.layer !== "") {
    const description = `layer ${quote(udm.layer)} cannot be written: its entries come from the source of that name`;
    faults.push({ field: "layer", description });
  }
  if (!checked.ok) return { violations: [...checked.violations, ...faults] };
  if (faults.length > 0) return { violations: faults };
  return { entry: { key: checked.key, ...checked.values }, contexts: udm.contexts.filter(isContext) };
}

/** Returns a violation where a list of a request has more items than an entry may have. */
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

/** Returns the entry with its own contexts and unknown fields, or with the file-only fields of the previous entry where it names none. */
export function afterReplacement(
  before: UdmEntry | undefined,
  { entry, contexts, otherFields: others }: RequestedEntry,
): UdmEntry {
  const kept = before?.fileOnly === undefined ? entry : { ...entry, fileOnly: before.fileOnly };
  const hasOthers = others !== undefined && others !== otherFields(kept);
  const whole = hasOthers ? withOtherFields(kept, others) : kept;
  return contexts.length === 0 ? whole : withContexts(whole, contexts);
}

/** Counts entries by the effect of changes. Many changes take several turns of the event loop. */
export async function countChanges(
  changes: readonly EntryChange[],
): Promise<Readonly<Record<"created" | "updated" | "deleted" | "unchanged", number>>> {
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

/** Returns the changes that make a difference. Many changes take several turns of the event loop. */
export async function realChanges(changes: readonly EntryChange[]): Promise<readonly EntryChange[]> {
  const real: EntryChange[] = [];
  for (const [i, change] of changes.entries()) {
    if (i % changesPerTurn === changesPerTurn - 1) await turn();
    if (isChange(change)) real.push(change);
  }
  return real;
}
