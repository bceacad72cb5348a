import type { Attribute } from "../definitions/definitions.ts";
import { placeholder } from "../values/put-row.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import { decodeIndex, type IndexType } from "../values/convert-value.ts";
import { heldValue } from "../values/convert-value.ts";
import { stateField } from "../values/put-value.ts";
import { type Cell, putRow } from "../values/put-row.ts";
import { type FieldDefinition, fieldNames, type NameTables } from "../values/put-value.ts";
import type { Oid } from "../session/ber.ts";
import type { SnmpValue } from "../values/convert-value.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";
import { suffixOf, type PolledRow, type PolledRows } from "./poll-object.ts";
import { type RecordFields, LineBuffer, type Enricher, type Sink } from "../../record/index.ts";
import type { RowChange, CountedRows } from "./counter-rates.ts";
import type { Clock } from "../../base/report/index.ts";
import type { Pacer } from "../limits.ts";
import type { DeviceFacts } from "../discovery/describe-device.ts";
import { completeRow } from "../values/complete-row.ts";

/** The cells of a row, and a mark if its instance is no valid index of the object. */
interface RowCells {
  readonly cells: readonly Cell[];
  readonly isOddIndex: boolean;
  /** The reasons why attributes have no reading, as names of fields and values, unless the row has these itself. */
  readonly states: readonly (readonly [string, string])[];
}

/** The suffix after the OIDs of a row's attributes, for an index that cannot be decoded. */
const rawInstance: FieldDefinition = {
  field: "snmp.object.instance",
  oidText: ".0.0",
  syntax: syntaxes.get("ObjectIdentifier") as Syntax,
};

/**
 * Returns the parts of the index, then the values of the row. A row with an odd index also has the suffix that the agent sent. The
 * parts of such an index are there if {@link decodeOddIndex} can read it.
 */
function rowCells(object: PolledObject, row: PolledRow): RowCells {
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

/** Reports whether another attribute of the row shows that this one has no reading. */
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
 * Decodes an index that breaks the rules in a known way. Some agents leave out the length of the last part, as if it were IMPLIED.
 * Others put the 0 of a scalar behind the index of a row (UPS of several makes in UPS-MIB, switches in EtherLike-MIB), or leave out the
 * TimeFilter at its beginning.
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

/**
 * Adds the changes of counters since the previous poll: `<field>_delta`, `<field>_rate` (per second), and `snmp.rate.interval`, the
 * seconds between the polls. Counters without a rate are listed in `snmp.rate.refused` as `<field> <reason>`.
 */
function putRates(fields: RecordFields, { seconds, changes }: RowChange): void {
  const refused: string[] = [];
  for (const change of changes) {
    const [field] = fieldNames(change.attribute);
    if (field === undefined || !fields.has(field)) continue;
    if ("refused" in change) {
      refused.push(`${field} ${change.refused}`);
      continue;
    }
    fields.set(`${field}_delta`, change.delta);
    fields.set(`${field}_rate`, change.perSecond);
  }
  fields.set("snmp.rate.interval", Math.round(seconds * 1000) / 1000);
  if (refused.length > 0) fields.set("snmp.rate.refused", refused);
}

/** Adds a text of the definition with the row's values that it refers to. If the row lacks one, it adds nothing. */
function putFixed(fields: RecordFields, field: string, text: string): void {
  if (fields.has(field)) return;
  if (!text.includes("{")) {
    fields.set(field, text);
    return;
  }
  let isWhole = true;
  const filled = text.replaceAll(placeholder, (_, named: string) => {
    const value = fields.get(named);
    isWhole &&= value !== undefined;
    return String(value);
  });
  if (isWhole) fields.set(field, filled);
}

/** The device for which records are made. */
export interface RecordSource {
  /** `ip:port` */
  readonly deviceId: string;
  /** `system.ip.addr` */
  readonly ip: string;
  /** `system.host.name` */
  readonly hostName: string;
  readonly names: NameTables;
  /** Compares its counters with those of the previous poll. */
  readonly count: (object: PolledObject, at: number) => CountedRows | undefined;
  /** The facts about the device, such as `system.vendor`, for the record of its system group. */
  readonly facts: DeviceFacts;
  /** The number of restarts of the device; undefined if the rows were read before its last restart. */
  readonly boot: number | undefined;
}

export interface WrittenRows {
  readonly records: number;
  /** The number of values that do not fit the syntax of their attribute and are not in the records. */
  readonly unreadable: number;
  /** The number of readings that are implausible for any device and are not in the records. */
  readonly implausible: number;
  /** The number of rows whose instance is no index of the object. Their records say so and contain the instance as it came. */
  readonly badIndexes: number;
}

/** Reads every row that becomes a record, before metadata is added. */
export interface RowReader {
  /**
   * Begins an object. `isWhole` is false if rows of the object may be missing, as after a failed poll.
   *
   * @returns undefined if the rows of the object are of no interest.
   */
  begin(
    deviceId: string,
    device: { readonly ip: string; readonly name: string; readonly boot: number | undefined },
    object: PolledObject,
  ): { add(fields: RecordFields): void; end(isWhole: boolean): void } | undefined;
}

/** The approximate size of a chunk of lines. */
const flushBytes = 256 * 1024;

/** The most line buffers to keep for the next objects. Each has a slab of memory and the names of fields. */
const maxIdle = 16;

/** The naming of values: as in the definitions and in syslog, or as in NetObserv, whose dashboards filter by them. */
export type SnmpNaming = "netgloss" | "netobserv";

/** Returns the name of an object. NetObserv names tables by their rows: `IF-MIB::ifXEntry` for `IF-MIB::ifXTable`. */
function objectName({ name, isTable }: PolledObject, naming: SnmpNaming): string {
  return isTable && naming === "netobserv" ? name.replace(/Table$/, "Entry") : name;
}

/**
 * Turns rows into records, enriches them, and passes them on as lines.
 *
 * @param addsRates true if records have the changes of their counters since the previous poll.
 */
export class RecordWriter {
  readonly #enricher: Enricher;
  readonly #sink: Sink;
  readonly #clock: Clock;
  readonly #pacer: Pacer;
  readonly #readers: readonly RowReader[];
  readonly #addsRates: boolean;
  readonly #naming: SnmpNaming;
  readonly #idle: LineBuffer[] = [];

  constructor(
    enricher: Enricher,
    sink: Sink,
    clock: Clock,
    pacer: Pacer,
    readers: readonly RowReader[] = [],
    addsRates = false,
    naming: SnmpNaming = "netgloss",
  ) {
    this.#enricher = enricher;
    this.#sink = sink;
    this.#clock = clock;
    this.#pacer = pacer;
    this.#readers = readers;
    this.#addsRates = addsRates;
    this.#naming = naming;
  }

  /**
   * Writes the rows of an object. It never throws, and yields to the event loop in a long table.
   *
   * @param isWanted reports whether to continue with a long table.
   */
  async write(
    source: RecordSource,
    object: PolledObject,
    polled: PolledRows,
    isWanted: () => boolean = () => true,
  ): Promise<WrittenRows> {
    const lines = this.#idle.pop() ?? new LineBuffer();
    const timestamp = new Date(this.#clock.now()).toISOString();
    const device = { ip: source.ip, name: source.hostName, boot: source.boot };
    const readers = this.#readers.map((reader) => reader.begin(source.deviceId, device, object));
    const counted = source.count(object, polled.at);
    const written = { records: 0, unreadable: 0, implausible: 0, badIndexes: 0 };
    const called = objectName(object, this.#naming);
    for (const row of polled.rows) {
      const { cells, isOddIndex, states } = rowCells(object, row);
      if (isOddIndex) written.badIndexes++;
      const fields: RecordFields = new Map();
      fields.set("@timestamp", timestamp);
      fields.set("system.ip.addr", source.ip);
      fields.set("system.host.name", source.hostName);
      fields.set("snmp.object.name", called);
      fields.set("snmp.object.entity", object.isTable ? `${object.id}.${row.key}` : object.id);
      if (!polled.isComplete || !polled.isOrdered) fields.set("snmp.object.isPartial", true);
      if (isOddIndex) fields.set("snmp.object.isOddIndex", true);
      const { unreadable, implausible } = putRow(fields, cells, source.names);
      written.unreadable += unreadable.length;
      written.implausible += implausible.length;
      for (const [field, byValue] of object.fixedBy)
        for (const [put, text] of byValue.get(String(fields.get(field))) ?? []) putFixed(fields, put, text);
      for (const [field, text] of object.fixed) putFixed(fields, field, text);
      for (const [field, reason] of states) if (!fields.has(field)) fields.set(field, reason);
      if (object.isShaped) written.implausible += completeRow(fields, object.sensor, object.ranged);
      if (object.isSystem) for (const [fact, text] of source.facts) fields.set(`system.${fact}`, text);
      const change = counted?.row(row.key, cells);
      if (this.#addsRates && change !== undefined) putRates(fields, change);
      written.records++;
      for (const reader of readers) reader?.add(fields);
      this.#enricher.enrich(fields);
      lines.append(fields);
      if (lines.byteLength >= flushBytes) this.#flush(lines);
      if (!this.#pacer.isDue()) continue;
      await this.#pacer.rest();
      if (!isWanted()) break;
    }
    if (polled.isComplete && isWanted()) counted?.end();
    this.#flush(lines);
    // A device that was removed meanwhile has no readings.
    if (isWanted()) for (const reader of readers) reader?.end(polled.isComplete && polled.isOrdered);
    if (this.#idle.length < maxIdle) this.#idle.push(lines);
    return written;
  }

  #flush(lines: LineBuffer): void {
    const { count } = lines;
    if (count > 0) this.#sink.write(lines.take(), count);
  }
}
