import type { FieldPattern } from "./record-field.ts";

/** Names that follow from what exporters send and from what operators say. */
export const fieldPatterns: readonly FieldPattern[] = [
  {
    pattern: "flow.ie.*",
    type: "any",
    example: '"flow.ie.ipTTL":64',
    description:
      "an element without a name of ours: its name, a vendor's `<pen>.<id>`; an array where the template repeats it",
    source: "all",
  },
  {
    pattern: "flow.hex.*",
    type: "keyword",
    example: '"flow.hex.sourceIPv4Address":"0xc00002"',
    description: "bytes that are no value of their element's type; an array where there are several",
    source: "NetFlow v9, IPFIX",
  },
  {
    pattern: "flow.outer.*",
    type: "inner",
    example: '"flow.outer.src.ip.addr":"203.0.113.1"',
    description: "the outermost of packets around one another, of several headers in a template",
    source: "packet, NetFlow v9, IPFIX",
  },
  {
    pattern: "flow.middle.*",
    type: "inner",
    example: '"flow.middle.src.ip.addr":"10.0.0.1"',
    description: "the second of three packets around one another, of three headers in a template",
    source: "packet, NetFlow v9, IPFIX",
  },
  {
    pattern: "flow.inner.*",
    type: "inner",
    example: '"flow.inner.l4.proto.id":6',
    description:
      "the packet within a tunnel, where a record with the beginning of a packet has the addresses of the tunnel",
    source: "packet",
  },
  {
    pattern: "flow.reverse.*",
    type: "inner",
    example: '"flow.reverse.tcp.flags.bits":18',
    description: "the reverse direction of a biflow",
    source: "RFC 5103",
  },
  {
    pattern: "flow.list.none_of.*",
    type: "inner",
    example: '"flow.list.none_of.in.netif.index":3',
    description: "elements of a list of which none is meant",
    source: "RFC 6313",
  },
  {
    pattern: "flow.list.exactly_one_of.*",
    type: "inner",
    example: '"flow.list.exactly_one_of.out.netif.index":[3,4]',
    description: "elements of a list of which one is meant",
    source: "RFC 6313",
  },
  {
    pattern: "flow.list.one_or_more_of.*",
    type: "inner",
    example: '"flow.list.one_or_more_of.out.netif.index":[3,4]',
    description: "elements of a list of which some are meant",
    source: "RFC 6313",
  },
  {
    pattern: "flow.list.all_of.*",
    type: "inner",
    example: '"flow.list.all_of.bytes":[1,2]',
    description: "elements of a list, where the record has a value of that name itself",
    source: "RFC 6313",
  },
  {
    pattern: "flow.list.ordered.*",
    type: "inner",
    example: '"flow.list.ordered.bytes":[1,2]',
    description: "elements of a list, where the record has a value of that name itself",
    source: "RFC 6313",
  },
  {
    pattern: "flow.list.undefined.*",
    type: "inner",
    example: '"flow.list.undefined.bytes":[1,2]',
    description: "elements of a list, where the record has a value of that name itself",
    source: "RFC 6313",
  },
  {
    pattern: "flow.scope.*",
    type: "long",
    example: '"flow.scope.interface":7',
    description: "scope of an options record: `system`, `interface`, `line_card`, `cache`, `template`, `type.<n>`",
    source: "NetFlow v9",
  },
  ...["flow.src.*", "flow.dst.*", "flow.client.*", "flow.server.*", "flow.export.*", "system.*"].map(
    (pattern): FieldPattern => ({
      pattern,
      type: "keyword",
      example: `"${pattern.replace("*", "site")}":"ams1"`,
      description: "metadata of the address under a name of your own",
      source: "metadata",
    }),
  ),
  {
    pattern: "app.*",
    type: "keyword",
    example: '"app.owner":"finance"',
    description: "metadata of the application under a name of your own",
    source: "application files",
  },
  ...["flow.in.netif.*", "flow.out.netif.*"].map((pattern): FieldPattern => ({
    pattern,
    type: "keyword",
    example: `"${pattern.replace("*", "site")}":"ams1"`,
    description: "metadata of the interface under a name of your own",
    source: "interface file",
  })),
];
