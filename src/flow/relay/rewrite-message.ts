import {
  ipfixForm,
  type CountDrop,
  type AddressField,
  type MessageForm,
  MessageWriter,
  type WrittenMessage,
  recordEnd,
  relayTemplate,
  type RelayTemplate,
} from "./ipfix-message.ts";
import type { RelayScope, HeldSet, RelayScopes } from "./relay-scope.ts";
import { readIpfixTemplates } from "../wire/ipfix-decoder.ts";
import { excessRecords, readNetflow9OptionsTemplates, readNetflow9Templates } from "../wire/netflow9-decoder.ts";
import { isForeignRest, isZero, readSets, zeroRecords, type SetRange } from "../wire/records/decoder.ts";

const netflow5HeaderLength = 24;
const recordLength = 48;
/** Templates are given again after this, milliseconds: a target may have started since. */
const announceEveryMs = 30_000;
const plainId = 256;
const sampledId = 257;

/** Elements and lengths of what a record of NetFlow v5 begins with, and has after the times. */
const specifiers: readonly (readonly [element: number, length: number])[] = [
  [8, 4],
  [12, 4],
  [15, 4],
  [10, 2],
  [14, 2],
  [2, 4],
  [1, 4],
  [152, 8],
  [153, 8],
  [7, 2],
  [11, 2],
  [6, 1],
  [4, 1],
  [5, 1],
  [16, 2],
  [17, 2],
  [9, 1],
  [13, 1],
  [38, 1],
  [39, 1],
];
const sampling: typeof specifiers = [
  [34, 4],
  [35, 1],
];

/**
 * Makes IPFIX messages of a datagram of NetFlow v5: its fields, its sampling and engine, and the sender's address. Both number flows, so the
 * sequence numbers stay. Times of flows become milliseconds since the epoch.
 *
 * @param now milliseconds of a monotonic clock.
 */
export function netflow5ToIpfix(
  bytes: Buffer,
  { scope, field, maxBytes, generation, drop }: Omit<RewriteContext, "form" | "scopes">,
  now: number,
): Buffer[] {
  if (bytes.length < netflow5HeaderLength) {
    drop("short_header");
    return [];
  }
  const there = Math.floor((bytes.length - netflow5HeaderLength) / recordLength);
  const said = bytes.readUInt16BE(2);
  const count = Math.min(said, there);
  if (said > there) drop("bad_length");
  const sequence = bytes.readUInt32BE(16);
  const header = Buffer.alloc(ipfixForm.headerLength);
  header.writeUInt16BE(10);
  bytes.copy(header, 4, 8, 12);
  header.writeUInt32BE(scope.id, 12);

  const writer = new MessageWriter(ipfixForm, header, maxBytes);
  if (scope.generation !== generation || now - scope.announcedAt >= announceEveryMs) {
    scope.generation = generation;
    scope.announcedAt = now;
    writer.add(ipfixForm.templateSet, templateRecord(plainId, specifiers, field));
    writer.add(ipfixForm.templateSet, templateRecord(sampledId, [...specifiers, ...sampling], field));
  }
  const rate = bytes.readUInt16BE(22);
  const tail = Buffer.concat([bytes.subarray(20, 22), samplingOf(rate), field.value]);
  const setId = (rate & 0x3fff) > 0 ? sampledId : plainId;
  const boot = bootTime(bytes);
  for (let i = 0; i < count; i++) {
    const at = netflow5HeaderLength + i * recordLength;
    writer.add(setId, ...recordParts(bytes, at, boot), tail);
  }
  let next = sequence;
  return writer.take().map(({ bytes: message, dataRecords }) => {
    message.writeUInt16BE(message.length, 2);
    message.writeUInt32BE(next, 8);
    next = (next + dataRecords) >>> 0;
    return message;
  });
}

/** The observation domain: engine type and id. */
export function netflow5Domain(bytes: Buffer): number {
  return bytes.length < netflow5HeaderLength ? 0 : bytes.readUInt16BE(20);
}

/** When the uptime was 0, milliseconds since the epoch. */
function bootTime(bytes: Buffer): { readonly at: number; readonly uptime: number } {
  const uptime = bytes.readUInt32BE(4);
  const nanoseconds = bytes.readUInt32BE(12);
  const fraction = nanoseconds < 1_000_000_000 ? Math.floor(nanoseconds / 1_000_000) : 0;
  return { at: bytes.readUInt32BE(8) * 1000 + fraction - uptime, uptime };
}

function samplingOf(rate: number): Buffer {
  const interval = rate & 0x3fff;
  if (interval === 0) return Buffer.alloc(0);
  const value = Buffer.alloc(5);
  value.writeUInt32BE(interval);
  value.writeUInt8(rate >> 14, 4);
  return value;
}

/** A record of NetFlow v5 in the order of the template, without its padding. */
function recordParts(bytes: Buffer, at: number, boot: ReturnType<typeof bootTime>): readonly Uint8Array[] {
  const times = Buffer.alloc(16);
  for (const [i, offset] of [24, 28].entries()) {
    const uptime = bytes.readUInt32BE(at + offset);
    // The uptime has 32 bits: a time that is far ahead of the header's was before it began again.
    const behind = (boot.uptime - uptime) | 0;
    times.writeBigUInt64BE(BigInt(Math.max(0, boot.at + boot.uptime - behind)), 8 * i);
  }
  const part = (from: number, to: number): Buffer => bytes.subarray(at + from, at + to);
  return [part(0, 24), times, part(32, 36), part(37, 46)];
}

function templateRecord(id: number, fields: typeof specifiers, field: AddressField): Buffer {
  const record = Buffer.alloc(4 + 4 * fields.length);
  record.writeUInt16BE(id);
  record.writeUInt16BE(fields.length + 1, 2);
  for (const [i, [element, length]] of fields.entries()) {
    record.writeUInt16BE(element, 4 + 4 * i);
    record.writeUInt16BE(length, 6 + 4 * i);
  }
  return Buffer.concat([record, field.specifier]);
}

const firstDataSetId = 256;
const lastDataSetId = 65_535;
/** The limit of one scope. Exporters have few templates; more are damaged messages. */
const maxRefused = 64;

/** The context with which a message is rewritten. */
interface RewriteContext {
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
  /** True if all records of the message are in what is written. */
  isWhole: boolean;
  /** Returns how many records more the message seems to have than its header counts (NetFlow v9). */
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
  const writer = new MessageWriter(form, header, maxBytes);
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

/** Returns whether a set tells that its template is another one by now: {@link isForeignRest}. */
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
  const writer = new MessageWriter(form, header, maxBytes);
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
