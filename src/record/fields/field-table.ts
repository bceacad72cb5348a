import { counterFields } from "./counter-fields.ts";
import { endFields } from "./end-fields.ts";
import { enrichedFields } from "./enriched-fields.ts";
import { fieldPatterns } from "./field-patterns.ts";
import { exportFields, flowFields, packetFields } from "./flow-fields.ts";
import type { FieldPattern, RecordField } from "./record-field.ts";
import { rollupFields } from "./rollup-fields.ts";
import { sflowFields } from "./sflow-fields.ts";
import { mibFields, snmpFields } from "./snmp-fields.ts";

/** The fields of records by what they are about, in the order of the docs. */
export const fieldGroups = {
  export: exportFields,
  flow: flowFields,
  packet: packetFields,
  sflow: sflowFields,
  counters: counterFields,
  enriched: enrichedFields,
  ends: endFields,
  rollup: rollupFields,
  snmp: snmpFields,
  mibs: mibFields,
} as const satisfies Readonly<Record<string, readonly RecordField[]>>;

/** Every name that records may have, but those of {@link fieldPatterns} and others that definitions give to metrics of SNMP. */
export const recordFields: readonly RecordField[] = Object.values(fieldGroups).flat();

const byName: ReadonlyMap<string, RecordField> = new Map(recordFields.map((field) => [field.name, field]));

/**
 * What a name of a record is: a field of the table, else that which an `inner` pattern makes of one (`flow.reverse.bytes`), else the
 * pattern that covers it.
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
