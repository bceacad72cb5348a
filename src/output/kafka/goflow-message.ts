import { LineWalker } from "../../record/index.ts";
import type { MessageEncoder } from "./flow-message.ts";
import { tagOf, wireType, type MessageWriter } from "./message-writer.ts";

/** How a value of a line becomes one of the message. */
type Conversion =
  | "number"
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

/** A field of goflow2's `FlowMessage`, and the fields of records that it is made of, the most preferred first. */
export interface GoflowField {
  readonly number: number;
  readonly name: string;
  readonly from: readonly string[];
  readonly conversion: Conversion;
}

const row = (number: number, name: string, conversion: Conversion, ...from: readonly string[]): GoflowField => ({
  number,
  name,
  from,
  conversion,
});

/** Numbers and types are those of goflow2's pb/flow.proto. Its users multiply bytes and packets by the sampling rate themselves. */
export const goflowFields: readonly GoflowField[] = [
  row(1, "type", "flowType", "flow.export.version.name"),
  row(3, "sampling_rate", "rounded", "flow.sample_rate"),
  row(4, "sequence_num", "number", "flow.export.sequence"),
  row(6, "src_addr", "address", "flow.src.ip.addr"),
  row(7, "dst_addr", "address", "flow.dst.ip.addr"),
  row(9, "bytes", "number", "flow.raw.bytes", "flow.bytes"),
  row(10, "packets", "number", "flow.raw.packets", "flow.packets"),
  row(11, "sampler_address", "address", "flow.export.agent.ip.addr", "flow.export.ip.addr"),
  row(12, "next_hop", "address", "flow.next_hop.ip.addr"),
  row(13, "next_hop_as", "number", "hop.dst.as.asn"),
  row(14, "src_as", "number", "flow.src.as.asn"),
  row(15, "dst_as", "number", "flow.dst.as.asn"),
  row(16, "src_net", "number", "flow.src.ip.prefix.length"),
  row(17, "dst_net", "number", "flow.dst.ip.prefix.length"),
  row(18, "in_if", "number", "flow.in.netif.index"),
  row(19, "out_if", "number", "flow.out.netif.index"),
  row(20, "proto", "number", "l4.proto.id"),
  row(21, "src_port", "number", "flow.src.l4.port.id"),
  row(22, "dst_port", "number", "flow.dst.l4.port.id"),
  row(23, "ip_tos", "dscp", "ip.dscp.id"),
  row(24, "forwarding_status", "number", "flow.forwarding.status.id"),
  row(25, "ip_ttl", "number", "flow.ie.ipTTL"),
  row(26, "tcp_flags", "number", "tcp.flags.bits"),
  row(27, "src_mac", "mac", "flow.src.mac.addr"),
  row(28, "dst_mac", "mac", "flow.dst.mac.addr"),
  row(29, "vlan_id", "number", "flow.src.vlan.tag.id"),
  row(30, "etype", "etherType", "ip.version.ver"),
  row(31, "icmp_type", "number", "icmp.type.id"),
  row(32, "icmp_code", "number", "icmp.code.id"),
  row(33, "src_vlan", "number", "flow.src.vlan.tag.id"),
  row(34, "dst_vlan", "number", "flow.dst.vlan.tag.id"),
  row(35, "fragment_id", "number", "flow.ie.fragmentIdentification"),
  row(36, "fragment_offset", "number", "flow.ie.fragmentOffset"),
  row(37, "ipv6_flow_label", "number", "flow.ie.flowLabelIPv6"),
  row(70, "observation_domain_id", "number", "flow.export.domain.id"),
  row(71, "observation_point_id", "number", "flow.ie.observationPointId"),
  row(81, "mpls_label", "numbers", "mpls.label.id"),
  row(100, "bgp_next_hop", "address", "flow.bgp.next_hop.ip.addr"),
  row(101, "bgp_communities", "communities", "flow.bgp.communities"),
  row(102, "as_path", "asPath", "flow.bgp.as_path"),
  row(110, "time_received_ns", "time", "@timestamp"),
  row(111, "time_flow_start_ns", "time", "flow.start.timestamp"),
  row(112, "time_flow_end_ns", "time", "flow.end.timestamp"),
];

/** Makes messages of goflow2's `FlowMessage` of lines of flows. What that has no field for is left out, and zeros, as its own writer does. */
export class GoflowEncoder implements MessageEncoder {
  /** The places of a field's values are kept one after the other, by the order of this list. */
  readonly #names = [...new Set([...goflowFields.flatMap(({ from }) => from), ecn])];
  readonly #walker = new LineWalker((name) => {
    const index = this.#names.indexOf(name);
    return index < 0 ? undefined : index;
  });
  readonly #begins = new Int32Array(this.#names.length);
  readonly #ends = new Int32Array(this.#names.length);
  readonly #sources = goflowFields.map(({ from }) => from.map((name) => this.#names.indexOf(name)));
  readonly #ecn = this.#names.indexOf(ecn);

  encode(out: MessageWriter, lines: Uint8Array, from: number, to: number): void {
    this.#ends.fill(0);
    this.#walker.walk(lines, from, to, this.#note);
    for (let i = 0; i < goflowFields.length; i++) {
      const source = (this.#sources[i] as number[]).find((index) => this.#ends[index] !== 0);
      if (source !== undefined) this.#write(out, lines, goflowFields[i] as GoflowField, source);
    }
  }

  readonly #note = (index: number, _: number, begin: number, end: number): void => {
    this.#begins[index] = begin;
    this.#ends[index] = end;
  };

  #write(out: MessageWriter, lines: Uint8Array, { number, conversion }: GoflowField, source: number): void {
    const [from, to] = [this.#begins[source] as number, this.#ends[source] as number];
    const varint = tagOf(number, wireType.varint);
    switch (conversion) {
      case "number":
        if (to - from > 1 || lines[from] !== zero) out.whole(lines, from, to, varint, false);
        return;
      case "address":
        out.address(lines, from, to, tagOf(number, wireType.bytes));
        return;
      case "time":
        out.time(lines, from, to, varint, false);
        return;
      case "numbers":
        out.packed(lines, from, to, tagOf(number, wireType.bytes), (begin, end) =>
          out.wholeItem(lines, begin, end, false),
        );
        return;
      case "communities":
      case "asPath":
        this.#writeList(out, number, JSON.parse(textOf(lines, from, to)) as string | readonly string[]);
        return;
      case "dscp":
      case "etherType":
      case "flowType":
      case "mac":
      case "rounded":
        break;
    }
    const value = this.#convert(lines, conversion, textOf(lines, from, to));
    if (value > 0 && value <= Number.MAX_SAFE_INTEGER) out.number(value, varint);
  }

  /** Writes communities (RFC 1997), or the path up to a set of systems, whose order says nothing. */
  #writeList(out: MessageWriter, number: number, given: string | readonly string[]): void {
    const texts = typeof given === "string" ? given.split(" ") : given;
    const values: number[] = [];
    for (const text of texts) {
      const [, upper, lower] = /^(?:(\d+):)?(\d+)$/.exec(text) ?? [];
      if (lower === undefined) break;
      values.push(upper === undefined ? Number(lower) : 65_536 * Number(upper) + Number(lower));
    }
    if (values.length === 0) return;
    const list = Buffer.from(JSON.stringify(values));
    out.packed(list, 0, list.length, tagOf(number, wireType.bytes), (begin, end) =>
      out.wholeItem(list, begin, end, false),
    );
  }

  /** @returns 0 or NaN: there is no such value. */
  #convert(lines: Uint8Array, conversion: "dscp" | "etherType" | "flowType" | "mac" | "rounded", text: string): number {
    switch (conversion) {
      case "dscp": {
        const end = this.#ends[this.#ecn] as number;
        return 4 * Number(text) + (end === 0 ? 0 : Number(textOf(lines, this.#begins[this.#ecn] as number, end)));
      }
      case "etherType":
        return { 4: 0x0800, 6: 0x86dd }[text] ?? 0;
      case "flowType":
        return flowTypes[text] ?? 0;
      case "mac":
        return /^"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}"$/.test(text) ? Number.parseInt(text.replaceAll(/[":]/g, ""), 16) : 0;
      case "rounded":
        break;
    }
    return Math.round(Number(text));
  }
}

const zero = 0x30;
/** The two lower bits of the octet whose upper six are `ip.dscp.id`. */
const ecn = "ip.ecn.id";
const flowTypes: Readonly<Record<string, number>> = {
  '"sFlow v5"': 1,
  '"NetFlow v5"': 2,
  '"NetFlow v9"': 3,
  '"IPFIX"': 4,
};

const textOf = (lines: Uint8Array, from: number, to: number): string =>
  Buffer.from(lines.buffer, lines.byteOffset + from, to - from).toString();
