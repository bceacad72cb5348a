import type { Attribute } from "../definitions/definitions.ts";
import { syntaxes, type Syntax } from "../values/syntax.ts";
import { decodeIndex, type IndexType } from "../values/decode-index.ts";
import { heldValue } from "../values/held-value.ts";
import { stateField } from "../values/plausibility.ts";
import type { Cell } from "../values/put-row.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import type { Oid } from "../session/oid.ts";
import type { SnmpValue } from "../values/snmp-value.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";
import { suffixOf, type PolledRow } from "./poll-object.ts";

/** What a row says, and whether its instance is no index of the object. */
export interface RowCells {
  readonly cells: readonly Cell[];
  readonly isOddIndex: boolean;
  /** Why attributes have no reading: names of fields and what they say, unless the row says it itself. */
  readonly states: readonly (readonly [string, string])[];
}

/** What follows the OID of the attributes of a row whose index cannot be read otherwise. */
const rawInstance: FieldDefinition = {
  field: "snmp.object.instance",
  oidText: ".0.0",
  syntax: syntaxes.get("ObjectIdentifier") as Syntax,
};

/**
 * The parts of the index, then the values that the row has. A row with an odd index also has what the agent sent; its
 * parts are there when it is odd in one of the ways of {@link decodeOddIndex}.
 */
export function rowCells(object: PolledObject, row: PolledRow): RowCells {
  const cells: Cell[] = [];
  let isOddIndex = false;
  if (object.isTable) {
    const suffix = suffixOf(row);
    let parts: (SnmpValue | undefined)[] | undefined = decodeIndex(object.indexTypes, suffix);
    if (parts === undefined) {
      isOddIndex = true;
      parts = decodeOddIndex(object, suffix);
      cells.push([rawInstance, { type: "ObjectIdentifier", value: suffix }]);
    }
    for (let i = 0; i < object.indexFields.length; i++) {
      const part = parts?.[i];
      if (part !== undefined) cells.push([object.indexFields[i] as FieldDefinition, part]);
    }
  }
  const states: [string, string][] = [];
  const { columns } = object;
  for (let i = 0; i < columns.length; i++) {
    const value = row.values[i];
    const { attribute } = columns[i] as PolledColumn;
    if (value === undefined || value.type === "Null" || hasNoValue(object, row, attribute)) continue;
    const reason = attribute.noValue?.get(Number(value.value));
    if (reason === undefined) cells.push([attribute, heldValue(value)]);
    else states.push([stateField(attribute.field), reason]);
  }
  return { cells, isOddIndex, states };
}

/** Whether another attribute of the row says that this one has no reading. */
function hasNoValue(object: PolledObject, row: PolledRow, { noValueWhen }: Attribute): boolean {
  if (noValueWhen === undefined) return false;
  const other = object.columns.findIndex(({ attribute }) => attribute.name === noValueWhen.attribute);
  const value = row.values[other]?.value;
  return typeof value === "number" && noValueWhen.is.includes(value);
}

const withoutLength: Readonly<Record<string, IndexType>> = {
  OctetString: "ImplicitOctetString",
  ObjectIdentifier: "ImplicitObjectIdentifier",
};

/**
 * Some agents leave out the length of the last part, as if it were IMPLIED. Others put the 0 of a scalar behind the index
 * of a row (UPS of several makes in UPS-MIB, switches in EtherLike-MIB), or leave out the TimeFilter at its beginning.
 */
function decodeOddIndex(
  { indexTypes: types, indexFields: fields }: PolledObject,
  suffix: Oid,
): (SnmpValue | undefined)[] | undefined {
  return (
    decodeWithoutLength(types, suffix) ??
    (suffix.at(-1) === 0 ? decodeIndex(types, suffix.slice(0, -1)) : undefined) ??
    (fields[0]?.syntax.name === "TimeTicks" ? decodeWithoutFirst(types, suffix) : undefined)
  );
}

function decodeWithoutFirst(types: readonly IndexType[], suffix: Oid): (SnmpValue | undefined)[] | undefined {
  const others = decodeIndex(types.slice(1), suffix);
  return others && [undefined, ...others];
}

function decodeWithoutLength(types: readonly IndexType[], suffix: Oid): SnmpValue[] | undefined {
  const implied = withoutLength[types.at(-1) ?? ""];
  return implied && decodeIndex([...types.slice(0, -1), implied], suffix);
}
