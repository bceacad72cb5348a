import { readIpfixTemplates } from "../wire/ipfix/read-ipfix-templates.ts";
import {
  excessRecords,
  readNetflow9OptionsTemplates,
  readNetflow9Templates,
} from "../wire/netflow9/read-netflow9-templates.ts";
import { isForeignRest, isZero, readSets, zeroRecords, type SetRange } from "../wire/template/read-sets.ts";
import { createMessageWriter, type MessageForm, type MessageWriter, type WrittenMessage } from "./message-writer.ts";
import type { CountDrop } from "./relay-counts.ts";
import type { HeldSet, RelayScope, RelayScopes } from "./relay-scope.ts";
import { recordEnd, relayTemplate, type AddressField, type RelayTemplate } from "./relay-template.ts";

const firstDataSetId = 256;
const lastDataSetId = 65_535;
/** Of one scope. Exporters have few templates; more are damaged messages. */
const maxRefused = 64;

/** What a message is rewritten with. */
export interface RewriteContext {
  readonly form: MessageForm;
  readonly scopes: RelayScopes;
  readonly scope: RelayScope;
  readonly field: AddressField;
  /** Messages are no longer than this, bytes. */
  readonly maxBytes: number;
  /** The socket that messages of this sender go out by now. Another than before gets all templates first. */
  readonly generation: number;
  readonly drop: CountDrop;
}

interface Work extends RewriteContext {
  readonly header: Buffer;
  readonly writer: MessageWriter;
  /** Sets that waited for templates of this message. */
  readonly released: HeldSet[];
  /** The templates that came with it so far. */
  readonly defined: Set<number>;
  /** Whether all records of the message are in what is written. */
  isWhole: boolean;
  /** How many records more the message seems to have than its header counts (NetFlow v9). */
  readonly excess: () => number;
}

/**
 * Rewrites a message of NetFlow v9 or IPFIX: templates get the address field at their end, data records its value. Data sets whose template
 * is not known are held until it comes. Whatever the bytes are, it does not throw.
 *
 * Sequence numbers go on so that a gap of the sender is the same gap behind, and splitting or holding makes none.
 */
export function rewriteMessage(bytes: Buffer, context: RewriteContext): Buffer[] {
  const { form, scope, maxBytes, generation, drop } = context;
  const { headerLength } = form;
  if (bytes.length < headerLength) {
    drop("short_header");
    return [];
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isIpfix = form.protocol === "ipfix";
  const length = isIpfix ? view.getUint16(2) : bytes.length;
  const header = Buffer.from(bytes.subarray(0, headerLength));
  const writer = createMessageWriter(form, header, maxBytes);
  const { sets, end, problem } = readSets(view, headerLength, Math.min(length, bytes.length));
  const excess = excessRecords(bytes, sets, (id) => {
    const of = scope.templates.get(id);
    return of?.hasVariableLength === false ? of.minLength : undefined;
  });
  const work: Work = { ...context, header, writer, released: [], defined: new Set(), isWhole: true, excess };
  if (isIpfix && scope.generation !== generation) {
    scope.generation = generation;
    announceAll(work);
  }
  for (const set of sets) rewriteSet(work, bytes, set);
  if (problem !== undefined || length > bytes.length || !isZero(view, Math.max(length, end), bytes.length)) {
    drop("bad_length");
    work.isWhole = false;
  }
  const sequence = view.getUint32(isIpfix ? 8 : 12);
  const messages = number(work, writer.take(), sequence);
  return [...messages, ...work.released.flatMap((held) => writeHeld(work, held))];
}

function rewriteSet(work: Work, bytes: Buffer, { id, start, end, isCut }: SetRange): void {
  const { form, scope, scopes, header, drop } = work;
  if (id === form.templateSet || id === form.optionsSet) {
    readTemplates(work, { bytes, start, end }, id === form.optionsSet);
    return;
  }
  if (id < firstDataSetId) {
    drop("reserved_set");
    return;
  }
  const content = bytes.subarray(start, end);
  const isOwn = scope.templates.has(id) || scope.refused.has(id);
  const others = isOwn ? undefined : scopes.templateOfOthers(scope, id);
  if (others !== undefined) define(work, others);
  const template = scope.templates.get(id);
  if (template !== undefined && (isCut || work.defined.has(id) || !isOfOther(scope, template, content))) {
    writeRecords(work, template, withoutPadding(work, template, content));
    return;
  }
  if (template !== undefined) drop("wrong_template");
  work.isWhole = false;
  scopes.hold(scope, { header, setId: id, bytes: Buffer.from(content) });
}

/** Whether a set tells that its template is another one by now: {@link isForeignRest}. */
function isOfOther(
  { loose }: RelayScope,
  { id, minLength, hasVariableLength }: RelayTemplate,
  content: Buffer,
): boolean {
  if (hasVariableLength || loose.has(id)) return false;
  return isForeignRest(content, 0, content.length, minLength);
}

/** The content of a set without records that are padding: {@link zeroRecords}. */
function withoutPadding({ form, excess }: Work, template: RelayTemplate, content: Buffer): Buffer {
  const { minLength, hasVariableLength, hasAddresses } = template;
  if (form.protocol === "ipfix" || hasVariableLength || !hasAddresses) return content;
  const zeros = zeroRecords(content, 0, content.length, minLength);
  if (zeros === 0) return content;
  const padding = Math.max(0, Math.min(zeros, excess()));
  return content.subarray(0, (Math.floor(content.length / minLength) - padding) * minLength);
}

function readTemplates(work: Work, range: { bytes: Buffer; start: number; end: number }, isOptions: boolean): void {
  const { form } = work;
  const read =
    form.protocol === "ipfix"
      ? readIpfixTemplates(range, isOptions)
      : (isOptions ? readNetflow9OptionsTemplates : readNetflow9Templates)(range);
  for (const record of read.records) {
    if ("withdrawn" in record) {
      withdraw(work, record.withdrawn, isOptions);
      continue;
    }
    const template = relayTemplate(record, work.field);
    if (template === undefined) refuse(work, record.template.id);
    else define(work, template);
  }
  if (read.problem !== undefined) refuse(work, read.problem.id);
}

/** A template that cannot be used takes its predecessor away: its data sets wait for one that can. */
function refuse({ scope, scopes, drop }: Work, id: number | undefined): void {
  drop("bad_template");
  if (id === undefined) return;
  scopes.withdraw(scope, id);
  if (scope.refused.size < maxRefused) scope.refused.add(id);
}

function define(work: Work, template: RelayTemplate): void {
  const { scope, scopes, drop } = work;
  const isSame = scope.templates.get(template.id)?.raw.equals(template.raw) === true;
  if (!scopes.define(scope, template)) {
    drop("template_limit");
    return;
  }
  if (template.hasLists && scope.aliases === undefined) {
    // From now on templates may describe what is in lists: those that went out with a field more are given as they are.
    scope.aliases = new Map();
    announceAll(work);
  } else announce(work, template);
  work.defined.add(template.id);
  const released = scopes.release(scope, template.id);
  work.released.push(...released);
  if (!isSame) scope.loose.delete(template.id);
  else if (released.length > 0) scope.loose.add(template.id);
}

/** Gives all templates of the scope again. */
function announceAll(work: Work): void {
  for (const template of work.scope.templates.values()) announce(work, template);
}

function announce(work: Work, template: RelayTemplate): void {
  const { scope } = work;
  const { aliases } = scope;
  if (aliases === undefined || template.namesExporter) {
    give(work, template, template.named);
    return;
  }
  give(work, template, template.raw);
  announceAlias(work, aliases, template);
  const [of] = [...aliases].find(([, alias]) => alias === template.id) ?? [];
  if (of === undefined) return;
  // The sender took an alias for a template of its own: whose it was gets another.
  aliases.delete(of);
  const other = scope.templates.get(of);
  if (other !== undefined) announceAlias(work, aliases, other);
}

function announceAlias(work: Work, aliases: Map<number, number>, template: RelayTemplate): void {
  const named = Buffer.from(template.named);
  named.writeUInt16BE(aliasOf(work.scope, aliases, template.id));
  give(work, template, named);
}

function give({ form, writer, drop }: Work, { isOptions }: RelayTemplate, record: Buffer): void {
  if (!writer.add(isOptions ? form.optionsSet : form.templateSet, record)) drop("too_long");
}

/** The id of the second template: the highest that nobody has. */
function aliasOf(scope: RelayScope, aliases: Map<number, number>, id: number): number {
  const known = aliases.get(id);
  if (known !== undefined) return known;
  const taken = new Set(aliases.values());
  let alias = lastDataSetId;
  while (taken.has(alias) || scope.templates.has(alias)) alias--;
  aliases.set(id, alias);
  return alias;
}

/** RFC 7011 section 8.1: the id of the set itself stands for all templates of its kind. */
function withdraw({ scope, scopes, form, writer }: Work, id: number, isOptions: boolean): void {
  const setId = isOptions ? form.optionsSet : form.templateSet;
  const giveUp = (withdrawn: number): void => {
    const record = Buffer.alloc(4);
    record.writeUInt16BE(withdrawn);
    writer.add(setId, record);
  };
  giveUp(id);
  const all = [...scope.templates.values()].filter((template) => template.isOptions === isOptions);
  for (const template of id < firstDataSetId ? all : all.filter((one) => one.id === id)) {
    const alias = scope.aliases?.get(template.id);
    if (alias !== undefined && id >= firstDataSetId) giveUp(alias);
    scope.aliases?.delete(template.id);
    scopes.withdraw(scope, template.id);
  }
}

/** Writes the records of a data set. */
function writeRecords(work: Work, template: RelayTemplate, content: Buffer): void {
  const { form, scope, field, writer, drop } = work;
  const { minLength, namesExporter, hasVariableLength } = template;
  const setId = namesExporter ? template.id : (scope.aliases?.get(template.id) ?? template.id);
  const mayBePadded = minLength < 4 && (form.protocol === "netflow9" || hasVariableLength);
  let at = 0;
  while (content.length - at >= minLength) {
    if (mayBePadded && at > 0 && content.length - at < 4 && content.subarray(at).every((byte) => byte === 0)) break;
    const end = recordEnd(template, content, at);
    if (end < 0) {
      drop("cut_record");
      work.isWhole = false;
      return;
    }
    const record = content.subarray(at, end);
    if (!(namesExporter ? writer.add(setId, record) : writer.add(setId, record, field.value))) {
      drop("too_long");
      work.isWhole = false;
    }
    at = end;
  }
}

/** The messages of a data set that was held, by the header that it came with. */
function writeHeld(work: Work, { header, setId, bytes }: HeldSet): Buffer[] {
  const { form, scope, maxBytes } = work;
  const template = scope.templates.get(setId);
  if (template === undefined) return [];
  const writer = createMessageWriter(form, header, maxBytes);
  writeRecords({ ...work, header, writer }, template, bytes);
  const messages = writer.take();
  const units = messages.reduce((sum, { dataRecords }) => sum + (form.protocol === "ipfix" ? dataRecords : 1), 0);
  const from = scope.next;
  scope.offset = (scope.offset + units) >>> 0;
  scope.next = (from + units) >>> 0;
  return fill(work, messages, from);
}

/** Gives messages their numbers: IPFIX counts the data records before, NetFlow v9 the messages. */
function number(work: Work, messages: readonly WrittenMessage[], sequence: number): Buffer[] {
  const { scope, form, isWhole } = work;
  if (form.protocol === "netflow9") {
    const from = (sequence + scope.offset) >>> 0;
    scope.offset = (scope.offset + messages.length - 1) >>> 0;
    scope.next = (from + messages.length) >>> 0;
    return fill(work, messages, from);
  }
  const from = scope.isAligned ? (sequence + scope.offset) >>> 0 : scope.next;
  scope.offset = (from - sequence) >>> 0;
  scope.next = (from + messages.reduce((sum, { dataRecords }) => sum + dataRecords, 0)) >>> 0;
  scope.isAligned = isWhole;
  return fill(work, messages, from);
}

/** Writes the numbers, lengths and counts of headers, and the scope's id. */
function fill({ scope, form }: Work, messages: readonly WrittenMessage[], from: number): Buffer[] {
  let sequence = from;
  return messages.map(({ bytes, records, dataRecords }) => {
    if (form.protocol === "ipfix") {
      bytes.writeUInt16BE(bytes.length, 2);
      bytes.writeUInt32BE(sequence, 8);
      bytes.writeUInt32BE(scope.id, 12);
      sequence = (sequence + dataRecords) >>> 0;
    } else {
      bytes.writeUInt16BE(records, 2);
      bytes.writeUInt32BE(sequence, 12);
      bytes.writeUInt32BE(scope.id, 16);
      sequence = (sequence + 1) >>> 0;
    }
    return bytes;
  });
}
