import { fieldsJson } from "./fields.gen.ts";
import type { FieldGroup, FieldPattern, FieldType, RecordField } from "./record-field.ts";

export { protoRest } from "./fields.gen.ts";

/** All fields that records may have, except those of {@link fieldPatterns} and those that definitions give to SNMP metrics. */
export const recordFields: readonly RecordField[] = JSON.parse(fieldsJson) as readonly RecordField[];

/** The numbers of fields in `proto/flow/v1/flow.proto` with their types, by the field's name. */
export const fieldNumbers: ReadonlyMap<
  string,
  { readonly number: number; readonly type: FieldType; readonly isArray: boolean }
> = new Map(
  recordFields.flatMap(({ name, type, isArray, protoNumber: number }) =>
    number === undefined ? [] : [[name, { number, type, isArray }]],
  ),
);

/** The fields of records by subject, in the order of the docs. */
export const fieldGroups: Readonly<Record<FieldGroup, readonly RecordField[]>> = {
  export: ofGroup("export"),
  flow: ofGroup("flow"),
  packet: ofGroup("packet"),
  sflow: ofGroup("sflow"),
  counters: ofGroup("counters"),
  enriched: ofGroup("enriched"),
  ends: ofGroup("ends"),
  rollup: ofGroup("rollup"),
  alert: ofGroup("alert"),
  snmp: ofGroup("snmp"),
  mibs: ofGroup("mibs"),
};

function ofGroup(name: FieldGroup): readonly RecordField[] {
  return recordFields.filter(({ group }) => group === name);
}

/** Patterns of names that depend on exporters and on operators' metadata. */
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
  {
    pattern: "*_rate",
    type: "double",
    example: '"netif.bytes.in_rate":1250000',
    description: "change of the counter since the previous poll, per second",
    source: "SNMP, SVC_INPUT_SNMP_RATES_ENABLE",
  },
  {
    pattern: "*_delta",
    type: "unsigned_long",
    example: '"netif.bytes.in_delta":75000000',
    description: "change of the counter since the previous poll",
    source: "SNMP, SVC_INPUT_SNMP_RATES_ENABLE",
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

const byName: ReadonlyMap<string, RecordField> = new Map(recordFields.map((field) => [field.name, field]));

/**
 * Finds the field or pattern of a record's name: a field of the table, else the field that an `inner` pattern derives from one
 * (`flow.reverse.bytes`), else the pattern that covers the name.
 */
export function findField(name: string): RecordField | FieldPattern | undefined {
  const own = byName.get(name);
  if (own !== undefined) return own;
  const pattern = fieldPatterns.find(({ pattern: each }) =>
    each.startsWith("*") ? name.endsWith(each.slice(1)) : name.startsWith(each.slice(0, -1)),
  );
  if (pattern?.type !== "inner") return pattern;
  const rest = name.slice(pattern.pattern.length - 1);
  const inner = findField(`flow.${rest}`) ?? findField(rest);
  return inner === undefined || "pattern" in inner ? inner : { ...inner, name };
}

/** A conflict of a new name with the names that records have. */
export interface FieldConflict {
  /** `same`: the name is a field's. `above`: fields lie below it. `below`: it lies below a field. */
  readonly kind: "same" | "above" | "below";
  /** The first such field. */
  readonly field: string;
}

/**
 * Returns a function that finds the field whose name conflicts with a new one. A record may not have a name twice, and no name may be both
 * a value and a group of others (`ip` and `ip.addr`).
 */
export function createFindConflict(): (name: string) => FieldConflict | undefined {
  const names = new Set(recordFields.map(({ name }) => name));
  const groups = new Map<string, string>();
  for (const name of names) {
    for (const above of groupsOf(name)) if (!groups.has(above)) groups.set(above, name);
  }
  return (name) => {
    if (names.has(name)) return { kind: "same", field: name };
    const below = groups.get(name);
    if (below !== undefined) return { kind: "above", field: below };
    const above = groupsOf(name).find((group) => names.has(group));
    return above === undefined ? undefined : { kind: "below", field: above };
  };
}

/** Returns the groups that a name lies in: `a` and `a.b` for `a.b.c`. */
function groupsOf(name: string): string[] {
  const groups: string[] = [];
  for (let dot = name.indexOf(".", 1); dot >= 0; dot = name.indexOf(".", dot + 1)) groups.push(name.slice(0, dot));
  return groups;
}
