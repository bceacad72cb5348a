import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { addressElements } from "../exporters/build-plan.ts";
import type { TemplateRecord } from "../exporters/known-templates.ts";
import { variableLength } from "../exporters/plan.ts";

/** Why something that came in is not passed on. */
export const relayDropReasons = [
  "unknown_protocol",
  "short_header",
  "bad_length",
  "bad_template",
  "template_limit",
  "no_template",
  "wrong_template",
  "cut_record",
  "reserved_set",
  "too_long",
] as const;
export type RelayDropReason = (typeof relayDropReasons)[number];

/** Counts what is dropped: datagrams, sets, templates or records, by the reason. */
export type CountDrop = (reason: RelayDropReason) => void;

/** The field that says who sent a record: exporterIPv4Address (130) or exporterIPv6Address (131). */
export interface AddressField {
  /** Its specifier in a template: element and length. */
  readonly specifier: Buffer;
  readonly value: Buffer;
}

/** The field for a sender; undefined for a text that is no address. IPv4-mapped addresses are IPv4. */
export function addressFieldOf(text: string): AddressField | undefined {
  const parsed = parseAddress(text);
  if (parsed === undefined) return undefined;
  const { family, value } = unmapAddress(parsed);
  const length = family === 4 ? 4 : 16;
  const specifier = Buffer.alloc(4);
  specifier.writeUInt16BE(family === 4 ? 130 : 131);
  specifier.writeUInt16BE(length, 2);
  return { specifier, value: Buffer.from(value.toString(16).padStart(2 * length, "0"), "hex") };
}

/** A template as its sender has it, and as it is passed on. */
export interface RelayTemplate {
  readonly id: number;
  readonly isOptions: boolean;
  /** Its record as it came. */
  readonly raw: Buffer;
  /** The same with the address field at its end; that of `raw` where the template names the exporter already. */
  readonly named: Buffer;
  readonly namesExporter: boolean;
  /** True if records have lists whose content other templates describe (subTemplateList, subTemplateMultiList, basicList of these). */
  readonly hasLists: boolean;
  /** Lengths of the fields, bytes. */
  readonly lengths: Uint16Array;
  /** The least length of a record. */
  readonly minLength: number;
  readonly hasVariableLength: boolean;
  /** True if a record of zeros is none: flows have addresses. */
  readonly hasAddresses: boolean;
}

const exporterElements: ReadonlySet<number> = new Set([130, 131]);
const listElements: ReadonlySet<number> = new Set([291, 292, 293]);

/** Reads a template; undefined for one whose records have no bytes. */
export function relayTemplate(record: TemplateRecord, field: AddressField): RelayTemplate | undefined {
  const { template } = record;
  const { id, fields, dialect, scopeCount } = template;
  const raw = Buffer.from(record.raw);
  const lengths = Uint16Array.from(fields, ({ length }) => length);
  const minLength = lengths.reduce((sum, length) => sum + (length === variableLength ? 1 : length), 0);
  if (minLength === 0) return undefined;
  // In NetFlow v9 a scope field has a numbering of its own.
  const own = dialect === "netflow9" ? fields.slice(scopeCount ?? 0) : fields;
  const has = (ids: ReadonlySet<number>): boolean => own.some((one) => one.pen === 0 && ids.has(one.id));
  const namesExporter = has(exporterElements);
  const named = namesExporter ? raw : Buffer.concat([raw, field.specifier]);
  if (!namesExporter) {
    // The count of fields; in options templates of NetFlow v9 the bytes of the option specifiers.
    const isV9Options = dialect === "netflow9" && scopeCount !== undefined;
    const at = isV9Options ? 4 : 2;
    const count = raw.readUInt16BE(at);
    // Only the bytes of whole specifiers are fields.
    named.writeUInt16BE(isV9Options ? (count & ~3) + 4 : count + 1, at);
  }
  return {
    id,
    isOptions: scopeCount !== undefined,
    raw,
    named,
    namesExporter,
    hasLists: dialect === "ipfix" && has(listElements),
    lengths,
    minLength,
    hasVariableLength: lengths.includes(variableLength),
    hasAddresses: scopeCount === undefined && has(addressElements),
  };
}

/** Returns where a record ends; -1 when it runs past the end of its set. */
export function recordEnd(
  { lengths, minLength, hasVariableLength }: RelayTemplate,
  bytes: Buffer,
  start: number,
): number {
  const end = bytes.length;
  if (!hasVariableLength) return start + minLength <= end ? start + minLength : -1;
  let at = start;
  for (const length of lengths) {
    if (length !== variableLength) at += length;
    else if (at >= end) return -1;
    else if (bytes[at] !== 0xff) at += 1 + (bytes[at] as number);
    else if (at + 3 > end) return -1;
    else at += 3 + bytes.readUInt16BE(at + 1);
  }
  return at <= end ? at : -1;
}

/** The differences between NetFlow v9 and IPFIX where messages are written. Sets end at a multiple of `alignment` bytes. */
export const netflow9Form = {
  protocol: "netflow9",
  headerLength: 20,
  templateSet: 0,
  optionsSet: 1,
  alignment: 4,
} as const;
export const ipfixForm = {
  protocol: "ipfix",
  headerLength: 16,
  templateSet: 2,
  optionsSet: 3,
  alignment: 1,
} as const;
export type MessageForm = typeof netflow9Form | typeof ipfixForm;

/** A message without the numbers of its header. */
export interface WrittenMessage {
  readonly bytes: Buffer;
  /** Templates and data records. */
  readonly records: number;
  readonly dataRecords: number;
}

const setHeader = 4;
const firstDataSetId = 256;
/** No UDP payload over IPv4 is longer. */
const maxPayload = 65_507;

/** Puts records into sets and sets into messages. Each message begins with a copy of the header. */
export class MessageWriter {
  readonly #form: MessageForm;
  readonly #header: Uint8Array;
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #messages: WrittenMessage[] = [];
  #size: number;
  #set: { readonly header: Buffer; length: number } | undefined;
  #setId = -1;
  #records = 0;
  #dataRecords = 0;

  constructor(form: MessageForm, header: Uint8Array, maxBytes: number) {
    this.#form = form;
    this.#header = header.subarray(0, form.headerLength);
    this.#maxBytes = maxBytes;
    this.#size = form.headerLength;
  }

  /** Adds a record. Returns false for one that fits into no datagram. */
  add(id: number, ...parts: readonly Uint8Array[]): boolean {
    const { headerLength, alignment } = this.#form;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const room = length + alignment - 1;
    if (headerLength + setHeader + room > maxPayload) return false;
    const isSame = this.#set !== undefined && this.#setId === id;
    // Ending the set before may pad it.
    const more = isSame ? 0 : setHeader + alignment - 1;
    if (this.#records > 0 && this.#size + room + more > this.#maxBytes) this.#endMessage();
    const set = this.#set !== undefined && this.#setId === id ? this.#set : this.#beginSet(id);
    this.#parts.push(...parts);
    set.length += length;
    this.#size += length;
    this.#records++;
    if (id >= firstDataSetId) this.#dataRecords++;
    return true;
  }

  /** The messages of all records since the last call, each no longer than `maxBytes` unless a single record is. */
  take(): WrittenMessage[] {
    this.#endMessage();
    const taken = this.#messages;
    this.#messages = [];
    return taken;
  }

  #beginSet(id: number): { readonly header: Buffer; length: number } {
    this.#endSet();
    const set = { header: Buffer.alloc(setHeader), length: setHeader };
    set.header.writeUInt16BE(id);
    this.#set = set;
    this.#setId = id;
    this.#parts.push(set.header);
    this.#size += setHeader;
    return set;
  }

  #endSet(): void {
    const set = this.#set;
    if (set === undefined) return;
    const { alignment } = this.#form;
    const padding = (alignment - (set.length % alignment)) % alignment;
    if (padding > 0) this.#parts.push(Buffer.alloc(padding));
    set.header.writeUInt16BE(set.length + padding, 2);
    this.#size += padding;
    this.#set = undefined;
  }

  #endMessage(): void {
    this.#endSet();
    if (this.#records > 0) {
      const bytes = Buffer.concat([this.#header, ...this.#parts]);
      this.#messages.push({ bytes, records: this.#records, dataRecords: this.#dataRecords });
    }
    this.#parts = [];
    this.#size = this.#form.headerLength;
    this.#records = this.#dataRecords = 0;
  }
}
