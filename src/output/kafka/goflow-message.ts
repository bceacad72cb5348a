import { columnOf, type BatchColumn, type Column, type ColumnBatch, type TextTable } from "../../record/index.ts";
import type { MessageEncoder } from "./flow-message.ts";
import { asWhole, has, numbersPart, partOf, type MessagePart } from "./message-writer.ts";

/** The conversion of a value in a line to one of the message. */
type Conversion =
  | "number"
  | "longNumber"
  | "address"
  | "time"
  | "mac"
  | "rounded"
  | "flowType"
  | "etherType"
  | "dscp"
  | "asPath"
  | "communities"
  | "numbers";

/** A field of goflow2's `FlowMessage`, and the record fields it is made of, the most preferred first. */
export interface GoflowField {
  readonly number: number;
  readonly name: string;
  readonly from: readonly string[];
  readonly conversion: Conversion;
}

const madeOf = (number: number, name: string, conversion: Conversion, ...from: readonly string[]): GoflowField => ({
  number,
  name,
  from,
  conversion,
});

/** Fields with the numbers and types of goflow2's pb/flow.proto. Its users multiply bytes and packets by the sampling rate themselves. */
export const goflowFields: readonly GoflowField[] = [
  madeOf(1, "type", "flowType", "flow.export.version.name"),
  madeOf(3, "sampling_rate", "rounded", "flow.sample_rate"),
  madeOf(4, "sequence_num", "number", "flow.export.sequence"),
  madeOf(6, "src_addr", "address", "flow.src.ip.addr"),
  madeOf(7, "dst_addr", "address", "flow.dst.ip.addr"),
  madeOf(9, "bytes", "longNumber", "flow.raw.bytes", "flow.bytes"),
  madeOf(10, "packets", "longNumber", "flow.raw.packets", "flow.packets"),
  madeOf(11, "sampler_address", "address", "flow.export.agent.ip.addr", "flow.export.ip.addr"),
  madeOf(12, "next_hop", "address", "flow.next_hop.ip.addr"),
  madeOf(13, "next_hop_as", "number", "hop.dst.as.asn"),
  madeOf(14, "src_as", "number", "flow.src.as.asn"),
  madeOf(15, "dst_as", "number", "flow.dst.as.asn"),
  madeOf(16, "src_net", "number", "flow.src.ip.prefix.length"),
  madeOf(17, "dst_net", "number", "flow.dst.ip.prefix.length"),
  madeOf(18, "in_if", "number", "flow.in.netif.index"),
  madeOf(19, "out_if", "number", "flow.out.netif.index"),
  madeOf(20, "proto", "number", "l4.proto.id"),
  madeOf(21, "src_port", "number", "flow.src.l4.port.id"),
  madeOf(22, "dst_port", "number", "flow.dst.l4.port.id"),
  madeOf(23, "ip_tos", "dscp", "ip.dscp.id"),
  madeOf(24, "forwarding_status", "number", "flow.forwarding.status.id"),
  madeOf(25, "ip_ttl", "number", "flow.ie.ipTTL"),
  madeOf(26, "tcp_flags", "number", "tcp.flags.bits"),
  madeOf(27, "src_mac", "mac", "flow.src.mac.addr"),
  madeOf(28, "dst_mac", "mac", "flow.dst.mac.addr"),
  madeOf(29, "vlan_id", "number", "flow.src.vlan.tag.id"),
  madeOf(30, "etype", "etherType", "ip.version.ver"),
  madeOf(31, "icmp_type", "number", "icmp.type.id"),
  madeOf(32, "icmp_code", "number", "icmp.code.id"),
  madeOf(33, "src_vlan", "number", "flow.src.vlan.tag.id"),
  madeOf(34, "dst_vlan", "number", "flow.dst.vlan.tag.id"),
  madeOf(35, "fragment_id", "number", "flow.ie.fragmentIdentification"),
  madeOf(36, "fragment_offset", "number", "flow.ie.fragmentOffset"),
  madeOf(37, "ipv6_flow_label", "number", "flow.ie.flowLabelIPv6"),
  madeOf(70, "observation_domain_id", "number", "flow.export.domain.id"),
  madeOf(71, "observation_point_id", "number", "flow.ie.observationPointId"),
  madeOf(81, "mpls_label", "numbers", "mpls.label.id"),
  madeOf(100, "bgp_next_hop", "address", "flow.bgp.next_hop.ip.addr"),
  madeOf(101, "bgp_communities", "communities", "flow.bgp.communities"),
  madeOf(102, "as_path", "asPath", "flow.bgp.as_path"),
  madeOf(110, "time_received_ns", "time", "@timestamp"),
  madeOf(111, "time_flow_start_ns", "time", "flow.start.timestamp"),
  madeOf(112, "time_flow_end_ns", "time", "flow.end.timestamp"),
];

/** The source of a field's values, and the rows that take their values from it; without presence: all rows. */
interface Source {
  readonly field: GoflowField;
  readonly column: BatchColumn;
  readonly presence: Uint8Array | undefined;
}

/**
 * Makes goflow2's `FlowMessage` of rows of flows. Like goflow2's own writer, it leaves out fields that the message lacks, and zeros.
 * It also leaves out values that the message's types cannot hold, and counts them.
 */
export class GoflowEncoder implements MessageEncoder {
  readonly hasRest = false;
  readonly columns: readonly Column[];
  readonly #positions: ReadonlyMap<string, number>;

  constructor() {
    const names = [...new Set([...goflowFields.flatMap(({ from }) => from), ecn])];
    this.columns = names.map(goflowColumn);
    this.#positions = new Map(names.map((name, index) => [name, index]));
  }

  partsOf(batch: ColumnBatch): ReturnType<MessageEncoder["partsOf"]> {
    const made = this.#sources(batch).map((source) => this.#partOf(source, batch));
    return { parts: made.map(({ part }) => part), leftOut: made.reduce((sum, { leftOut }) => sum + leftOut, 0) };
  }

  /** Returns the sources of all fields. Each row takes a field from the most preferred column that it has. */
  #sources(batch: ColumnBatch): Source[] {
    return goflowFields.flatMap((field) => {
      const sources: Source[] = [];
      let taken: Uint8Array | undefined;
      for (const name of field.from) {
        const column = this.#column(batch, name);
        if (column.count === 0) continue;
        const before = taken;
        const presence = before && column.presence.map((bits, i) => bits & ~(before[i] as number));
        sources.push({
          field,
          column,
          presence: presence ?? (column.count < batch.rows ? column.presence : undefined),
        });
        if (column.count === batch.rows) break;
        taken = before === undefined ? column.presence : column.presence.map((bits, i) => bits | (before[i] as number));
      }
      return sources;
    });
  }

  #column({ columns }: ColumnBatch, name: string): BatchColumn {
    return columns[this.#positions.get(name) as number] as BatchColumn;
  }

  #partOf(
    { field, column, presence }: Source,
    batch: ColumnBatch,
  ): { readonly part: MessagePart; readonly leftOut: number } {
    const { rows, texts } = batch;
    const { number, conversion } = field;
    const plain = (options: Partial<MessagePart>): MessagePart =>
      partOf(column, rows, number, { presence, hasZeros: false, ...options });
    const most = column.column.type === "unsigned" ? 0xffff_ffff : 0x7fff_ffff;
    switch (conversion) {
      case "number":
        return { part: plain({ mostHigh: 0 }), leftOut: 0 };
      case "longNumber":
      case "time":
        return { part: plain({ ...asWhole, mostHigh: most }), leftOut: 0 };
      case "address":
        return { part: plain({}), leftOut: 0 };
      case "numbers":
      case "communities":
      case "asPath": {
        const { words, offsets, leftOut } = readLists(listReader(conversion, column, texts), presence, rows);
        return { part: numbersPart(words, presence, number, offsets), leftOut };
      }
      case "dscp":
      case "etherType":
      case "flowType":
      case "mac":
      case "rounded":
        break;
    }
    const valueOf = numberReader(conversion, column, this.#column(batch, ecn), texts);
    const { words, leftOut } = readValues(valueOf, presence, rows);
    return { part: numbersPart(words, presence, number), leftOut };
  }
}

/** The field with the two lower bits of the octet whose upper six are `ip.dscp.id`. */
const ecn = "ip.ecn.id";
const flowTypes: Readonly<Record<string, number>> = {
  "sFlow v5": 1,
  "NetFlow v5": 2,
  "NetFlow v9": 3,
  IPFIX: 4,
};
const etherTypes: Readonly<Record<number, number>> = { 4: 0x0800, 6: 0x86dd };
const pastWord = 2 ** 32;

/** Returns the column of a field. Elements without a name of ours are read as whole numbers. */
function goflowColumn(field: string): Column {
  const column = field.startsWith("flow.ie.") ? undefined : columnOf(field);
  return column ?? { field, type: "unsigned", isArray: false };
}

/** Reads the numbers of rows as 32-bit halves. @param valueOf NaN: the message has no number for it. */
function readValues(
  valueOf: (row: number) => number,
  presence: Uint8Array | undefined,
  rows: number,
): { readonly words: Uint32Array; readonly leftOut: number } {
  const words = new Uint32Array(2 * rows);
  let leftOut = 0;
  for (let row = 0; row < rows; row++) {
    if (presence !== undefined && !has(presence, row)) continue;
    const value = valueOf(row);
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      words[2 * row] = value >>> 0;
      words[2 * row + 1] = Math.floor(value / pastWord);
    } else leftOut++;
  }
  return { words, leftOut };
}

/** Reads the lists of rows as 32-bit halves of numbers. */
function readLists(
  listOf: (row: number) => NumberList,
  presence: Uint8Array | undefined,
  rows: number,
): { readonly words: Uint32Array; readonly offsets: Uint32Array; readonly leftOut: number } {
  const words: number[] = [];
  const offsets = new Uint32Array(rows + 1);
  let leftOut = 0;
  for (let row = 0; row < rows; row++) {
    if (presence === undefined || has(presence, row)) {
      const { values, isCut } = listOf(row);
      for (const value of values) words.push(value, 0);
      leftOut += Number(isCut);
    }
    offsets[row + 1] = words.length / 2;
  }
  return { words: Uint32Array.from(words), offsets, leftOut };
}

/**
 * Returns a reader of the lists of a column: numbers, communities (RFC 1997), or an AS path up to its first set of systems, which has no
 * order.
 */
function listReader(
  conversion: "numbers" | "communities" | "asPath",
  { data, offsets }: BatchColumn,
  texts: TextTable,
): (row: number) => NumberList {
  if (conversion === "asPath") return (row) => numbersOf(textOf(texts, data[row] as number).split(" "));
  return (row) => {
    const items = [...data.subarray(offsets[row], offsets[row + 1])];
    return numbersOf(items.map((item) => (conversion === "numbers" ? String(item) : textOf(texts, Number(item)))));
  };
}

/** Numbers of 32 bits, and whether an item after them is not one. */
interface NumberList {
  readonly values: readonly number[];
  readonly isCut: boolean;
}

/** Returns the numbers before the first item that is not a 32-bit number. */
function numbersOf(texts: readonly string[]): NumberList {
  const values: number[] = [];
  for (const text of texts) {
    const [, upper, lower] = /^(?:(\d{1,5}):)?(\d{1,10})$/.exec(text) ?? [];
    const value = 65_536 * Number(upper ?? 0) + Number(lower);
    const isTooLong = upper !== undefined && Number(lower) > 0xffff;
    if (lower === undefined || isTooLong || value >= pastWord) return { values, isCut: true };
    values.push(value);
  }
  return { values, isCut: false };
}

/** Returns a reader of the numbers that a column's values represent; NaN: there is none. */
function numberReader(
  conversion: "dscp" | "etherType" | "flowType" | "mac" | "rounded",
  column: BatchColumn,
  ecns: BatchColumn,
  texts: TextTable,
): (row: number) => number {
  const { data } = column;
  switch (conversion) {
    case "dscp": {
      const [upper, lower] = [numberAt(column), ecns.count === 0 ? undefined : numberAt(ecns)];
      return (row) => 4 * upper(row) + (lower?.(row) ?? 0);
    }
    case "etherType": {
      const version = numberAt(column);
      return (row) => etherTypes[version(row)] ?? Number.NaN;
    }
    case "flowType": {
      let [code, value] = [0, Number.NaN];
      return (row) => {
        if (data[row] !== code) {
          code = data[row] as number;
          value = flowTypes[textOf(texts, code)] ?? Number.NaN;
        }
        return value;
      };
    }
    case "mac":
      return (row) => macOf(texts, data[row] as number);
    case "rounded":
      break;
  }
  const exact = numberAt(column);
  return (row) => Math.round(exact(row));
}

/** Returns a reader of a column's numbers. It reads whole ones of 64 bits without an object for each. */
function numberAt({ column, data }: BatchColumn): (row: number) => number {
  if (column.type === "double") return (row) => data[row] as number;
  const words = new Int32Array(data.buffer, data.byteOffset, data.byteLength >>> 2);
  // Beyond 2^63 the result is negative, which the callers reject.
  return (row) => (words[2 * row + 1] as number) * pastWord + ((words[2 * row] as number) >>> 0);
}

const macBytes = 17;

/** Reads a MAC address such as `00:00:5e:00:53:01`; NaN: it is not one. */
function macOf({ offsets, bytes }: TextTable, code: number): number {
  const from = offsets[code] as number;
  if ((offsets[code + 1] as number) - from !== macBytes) return Number.NaN;
  let value = 0;
  for (let i = 0; i < macBytes; i++) {
    const byte = bytes[from + i] as number;
    if (i % 3 === 2) {
      if (byte !== 0x3a) return Number.NaN;
    } else if (byte >= 0x30 && byte <= 0x39) value = 16 * value + byte - 0x30;
    else if (byte >= 0x61 && byte <= 0x66) value = 16 * value + byte - 0x57;
    else return Number.NaN;
  }
  return value;
}

const textOf = ({ offsets, bytes }: TextTable, code: number): string =>
  Buffer.from(
    bytes.buffer,
    bytes.byteOffset + (offsets[code] as number),
    (offsets[code + 1] as number) - (offsets[code] as number),
  ).toString();
