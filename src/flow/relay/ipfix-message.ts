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
  /** Whether records have lists whose content other templates describe (subTemplateList, subTemplateMultiList, basicList of these). */
  readonly hasLists: boolean;
  /** Lengths of the fields, bytes. */
  readonly lengths: Uint16Array;
  /** The least length of a record. */
  readonly minLength: number;
  readonly hasVariableLength: boolean;
  /** Whether a record of zeros is none: flows have addresses. */
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
    // Of bytes only those of whole specifiers are fields.
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

/** Where a record ends; -1 when it runs past the end of its set. */
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

/** How NetFlow v9 and IPFIX differ where messages are written. */
export interface MessageForm {
  readonly protocol: "netflow9" | "ipfix";
  readonly headerLength: number;
  readonly templateSet: number;
  readonly optionsSet: number;
  /** Sets end at a multiple of this many bytes. */
  readonly alignment: number;
}

export const netflow9Form: MessageForm = {
  protocol: "netflow9",
  headerLength: 20,
  templateSet: 0,
  optionsSet: 1,
  alignment: 4,
};

export const ipfixForm: MessageForm = {
  protocol: "ipfix",
  headerLength: 16,
  templateSet: 2,
  optionsSet: 3,
  alignment: 1,
};

/** A message without the numbers of its header. */
export interface WrittenMessage {
  readonly bytes: Buffer;
  /** Templates and data records. */
  readonly records: number;
  readonly dataRecords: number;
}

export interface MessageWriter {
  /** Adds a record. Returns false for one that fits into no datagram. */
  add(setId: number, ...parts: readonly Uint8Array[]): boolean;
  /** The messages of all records since the last call, each no longer than `maxBytes` unless a single record is. */
  take(): WrittenMessage[];
}

const setHeader = 4;
const firstDataSetId = 256;
/** No UDP payload over IPv4 is longer. */
const maxPayload = 65_507;

/** Puts records into sets and sets into messages. Each message begins with a copy of the header. */
export function createMessageWriter(form: MessageForm, header: Uint8Array, maxBytes: number): MessageWriter {
  const { headerLength, alignment } = form;
  let parts: Uint8Array[] = [];
  let messages: WrittenMessage[] = [];
  let size = headerLength;
  let set: { readonly header: Buffer; length: number } | undefined;
  let setId = -1;
  let records = 0;
  let dataRecords = 0;

  const endSet = (): void => {
    if (set === undefined) return;
    const padding = (alignment - (set.length % alignment)) % alignment;
    if (padding > 0) parts.push(Buffer.alloc(padding));
    set.header.writeUInt16BE(set.length + padding, 2);
    size += padding;
    set = undefined;
  };
  const endMessage = (): void => {
    endSet();
    if (records > 0) {
      messages.push({ bytes: Buffer.concat([header.subarray(0, headerLength), ...parts]), records, dataRecords });
    }
    parts = [];
    size = headerLength;
    records = dataRecords = 0;
  };

  return {
    add(id, ...added) {
      const length = added.reduce((sum, part) => sum + part.length, 0);
      const room = length + alignment - 1;
      if (headerLength + setHeader + room > maxPayload) return false;
      const isSame = set !== undefined && setId === id;
      // Ending the set before may pad it.
      if (records > 0 && size + room + (isSame ? 0 : setHeader + alignment - 1) > maxBytes) endMessage();
      if (set === undefined || setId !== id) {
        endSet();
        set = { header: Buffer.alloc(setHeader), length: setHeader };
        set.header.writeUInt16BE(id);
        setId = id;
        parts.push(set.header);
        size += setHeader;
      }
      parts.push(...added);
      set.length += length;
      size += length;
      records++;
      if (id >= firstDataSetId) dataRecords++;
      return true;
    },
    take() {
      endMessage();
      const taken = messages;
      messages = [];
      return taken;
    },
  };
}
