import { oidStartsWith, type Oid, parseOid } from "../session/ber.ts";
import { namesPutBy, type FixedBy } from "../definitions/definitions.ts";
import type { DevicePlan, PlannedObject } from "../discovery/device-plan.ts";
import {
  type Attribute,
  type AttributeReference,
  type Definitions,
  type Device,
  type ObjectDefinition,
  pollIntervalMs,
  reachedObjects,
} from "../definitions/definitions.ts";
import { learntColumn, type LearntColumn } from "../discovery/learn-interfaces.ts";
import type { IndexType } from "../values/convert-value.ts";
import { isShaped, sensorKindOf, type SensorKind } from "../values/complete-row.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";

/** The columns of ENTITY-MIB (RFC 6933), LLDP-MIB (IEEE 802.1AB) and HOST-RESOURCES-MIB (RFC 2790). */
const namingColumns = {
  entityDescr: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 2],
  entityParent: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 4],
  entityClass: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 5],
  entityPosition: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 6],
  entityName: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 7],
  portIdSubtype: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
  portId: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
  portDescr: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
  deviceDescr: [1, 3, 6, 1, 2, 1, 25, 3, 2, 1, 3],
} as const satisfies Readonly<Record<string, Oid>>;

/** A column that names rows of other tables. */
export type NamingColumn = keyof typeof namingColumns;

function namingColumn(oid: Oid): NamingColumn | undefined {
  return (Object.keys(namingColumns) as NamingColumn[]).find(
    (name) => namingColumns[name].length === oid.length && oidStartsWith(oid, namingColumns[name]),
  );
}

const sysDescr = ".1.3.6.1.2.1.1.1";

/** A column or a scalar. The current definitions say how to read it, the discovery says at which OID. */
export interface PolledColumn {
  readonly attribute: Attribute;
  readonly oid: Oid;
  /** The kind of fact about the device's interfaces in this column. */
  readonly learnt: LearntColumn | undefined;
  /** The kind of names that this column gives to rows of other tables. */
  readonly naming: NamingColumn | undefined;
}

/** An object as it is polled. */
export interface PolledObject {
  /** `MIB::object`, or `MIB::object@context` in a context of its own. */
  readonly id: string;
  /** `MIB::object` */
  readonly name: string;
  /** The context of the agent; undefined for that of the device. */
  readonly context: string | undefined;
  readonly isTable: boolean;
  readonly indexTypes: readonly IndexType[];
  readonly indexFields: readonly FieldDefinition[];
  readonly columns: readonly PolledColumn[];
  /** The positions of the columns that are read in all rows. The others are read only in rows that lack an overriding value. */
  readonly walked: readonly number[];
  readonly overridden: readonly OverriddenColumn[];
  /** The texts that every record has. */
  readonly fixed: ReadonlyMap<string, string>;
  readonly fixedBy: FixedBy;
  /** True if further fields follow from those of a row. */
  readonly isShaped: boolean;
  /** The kind of its sensors, if the definition gives it. */
  readonly sensor: SensorKind | undefined;
  /** The fields whose definition gives the range of their readings. */
  readonly ranged: ReadonlySet<string>;
  /** True if its record describes the device. */
  readonly isSystem: boolean;
}

/** A column that counts only in rows in which another one has no value. */
interface OverriddenColumn {
  /** The position among the columns. */
  readonly column: number;
  /** The object of the overriding attribute, and the name of that attribute. */
  readonly by: AttributeReference;
}

/** The objects of one type, which are polled together. */
export interface PolledType {
  readonly intervalMs: number;
  readonly objects: readonly PolledObject[];
}

/**
 * Compiles the objects to poll of a device. The discovery decides where they are, the current definitions how they are read. Attributes
 * that the definitions no longer have are left out; those beyond the plan wait for the next discovery. Devices with the same object
 * share it.
 */
export class PlanCompiler {
  readonly #shared = new WeakMap<Definitions, Map<string, PolledObject>>();

  /** @returns the objects to poll, by the name of the object type ("" for objects without one). */
  compile(plan: DevicePlan, definitions: Definitions, device: Device): ReadonlyMap<string, PolledType> {
    let objects = this.#shared.get(definitions);
    if (objects === undefined) this.#shared.set(definitions, (objects = new Map<string, PolledObject>()));
    const reached = reachedObjects(definitions, plan.deviceGroups);
    const overriders = overridersIn(plan, reached);
    const types = new Map<string, { intervalMs: number; objects: PolledObject[] }>();
    for (const [id, planned] of plan.objects) {
      const object = reached.get(id);
      if (object === undefined) continue;
      const shape = shapeOf(planned, id, overriders, plan);
      for (const context of planned.contexts.length === 0 ? [undefined] : planned.contexts) {
        const key = `${id} ${shape} ${context === undefined ? "" : JSON.stringify(context)}`;
        let polled = objects.get(key);
        if (polled === undefined) {
          polled = polledObject(object, planned, overriders, (by) => haveSameRows(id, by, plan, reached));
          if (context !== undefined) polled = inContext(polled, context);
          objects.set(key, polled);
        }
        if (polled.columns.length === 0) continue;
        const name = object.type ?? "";
        let type = types.get(name);
        if (type === undefined) {
          type = { intervalMs: pollIntervalMs(definitions, device, object.type), objects: [] };
          types.set(name, type);
        }
        type.objects.push(polled);
      }
    }
    return types;
  }
}

/** Returns the object in a context. Its records name the context, and its facts about interfaces do not count for the device. */
function inContext(object: PolledObject, context: string): PolledObject {
  return {
    ...object,
    id: `${object.id}@${context}`,
    context,
    columns: object.columns.map((column) => ({ ...column, learnt: undefined, naming: undefined })),
    overridden: object.overridden.map(({ column, by }) => ({
      column,
      by: { ...by, object: by.object === object.id ? `${by.object}@${context}` : by.object },
    })),
    fixed: new Map([...object.fixed, ["snmp.context", context]]),
  };
}

/** Returns a text of all that determines a polled object, except its definition. */
function shapeOf(planned: PlannedObject, object: string, overriders: Overriders, plan: DevicePlan): string {
  const by = Array.from(planned.attributes.keys(), (attribute) => overriders.get(reference({ object, attribute })));
  const parts = (index: PlannedObject["index"] | undefined): string[] =>
    (index ?? []).map(({ type, oidText, field, syntax }) => `${type} ${oidText} ${field} ${syntax}`);
  const others = by.map((one) => one && [one.object, one.attribute, parts(plan.objects.get(one.object)?.index)]);
  return JSON.stringify([[...planned.attributes], parts(planned.index), others]);
}

/** The attribute that overrides each attribute of the plan, by `object attribute`. */
type Overriders = ReadonlyMap<string, AttributeReference>;

const reference = ({ object, attribute }: AttributeReference): string => `${object} ${attribute}`;

function overridersIn(plan: DevicePlan, reached: ReadonlyMap<string, ObjectDefinition>): Overriders {
  const overriders = new Map<string, AttributeReference>();
  for (const [object, planned] of plan.objects) {
    for (const attribute of planned.attributes.keys()) {
      const overrides = reached.get(object)?.attributes.get(attribute)?.overrides;
      // Rows of different contexts do not correspond to each other.
      const isInContexts = [object, overrides?.object ?? ""].some((id) => plan.objects.get(id)?.contexts.length);
      if (overrides !== undefined && (!isInContexts || overrides.object === object))
        overriders.set(reference(overrides), { object, attribute });
    }
  }
  return overriders;
}

/** Reports whether the rows of two objects can be matched and are read at the same time. */
function haveSameRows(a: string, b: string, plan: DevicePlan, reached: ReadonlyMap<string, ObjectDefinition>): boolean {
  const encoding = (id: string): string | undefined =>
    plan.objects
      .get(id)
      ?.index.map(({ type }) => type)
      .join();
  return encoding(a) === encoding(b) && reached.get(a)?.type === reached.get(b)?.type;
}

function polledObject(
  object: ObjectDefinition,
  planned: PlannedObject,
  overriders: Overriders,
  isSameRows: (overriding: string) => boolean,
): PolledObject {
  const columns: PolledColumn[] = [];
  const overridden: OverriddenColumn[] = [];
  for (const [name, oidText] of planned.attributes) {
    const attribute = object.attributes.get(name);
    const oid = parseOid(oidText);
    if (attribute === undefined || oid === undefined) continue;
    const by = overriders.get(reference({ object: object.id, attribute: name }));
    if (by !== undefined && !isSameRows(by.object)) continue;
    if (by !== undefined) overridden.push({ column: columns.length, by });
    columns.push({ attribute, oid, learnt: learntColumn(oid), naming: namingColumn(oid) });
  }
  const isTable = planned.index.length > 0;
  const positions = [...columns.keys()];
  const own = positions.filter((column) => !overridden.some((one) => one.column === column));
  const isSameIndex =
    object.index.length === planned.index.length &&
    planned.index.every(
      ({ type, oidText }, i) => object.index[i]?.type === type && object.index[i]?.oidText === oidText,
    );
  const indexFields = isSameIndex
    ? object.index
    : planned.index.map(({ field, syntax, oidText }) => ({ field, oidText, syntax: syntaxes.get(syntax) as Syntax }));
  return {
    id: object.id,
    name: object.id,
    context: undefined,
    isTable,
    indexTypes: planned.index.map(({ type }) => type),
    indexFields,
    columns,
    // At least one column must be read in full to know the rows.
    walked: isTable && own.length > 0 ? own : positions,
    overridden,
    fixed: object.fixed,
    fixedBy: object.fixedBy,
    isShaped: isShaped([
      ...columns.map(({ attribute }) => attribute.field),
      ...object.fixed.keys(),
      ...namesPutBy(object.fixedBy),
    ]),
    sensor: sensorKindOf(columns.map(({ attribute }) => attribute)),
    ranged: new Set(columns.flatMap(({ attribute }) => (attribute.range === undefined ? [] : [attribute.field]))),
    isSystem: columns.some(({ attribute }) => attribute.oidText === sysDescr),
  };
}
