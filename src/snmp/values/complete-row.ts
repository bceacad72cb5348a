import type { RecordFields } from "../../record/index.ts";
import type { FieldDefinition } from "./put-value.ts";

/** Starts of the names of fields that have one shape whatever the MIB. */
const shaped = ["system.cpu.", "system.memory.", "hw.sensor.", "storage."];

/** `hw.sensor.type` and `hw.sensor.unit`. */
export type SensorKind = readonly [type: string, unit: string, divide?: number];

const kindsBySyntax: readonly (readonly [RegExp, SensorKind])[] = [
  [/^Temperature/, ["temperature", "Cel"]],
  [/^Voltage/, ["voltage", "V"]],
  [/^Current/, ["current", "A"]],
  [/^Power.*Dbm/, ["optical_power", "dBm"]],
  [/^Power.*VoltAmp$/, ["apparent_power", "VA"]],
  [/^Power/, ["power", "W"]],
  [/^Freq/, ["frequency", "Hz"]],
];

/** What an object's attribute `hw.sensor.value` is a reading of, as far as its syntax says. */
export function sensorKindOf(attributes: Iterable<FieldDefinition>): SensorKind | undefined {
  for (const { field, syntax } of attributes)
    if (field === "hw.sensor.value") return kindsBySyntax.find(([pattern]) => pattern.test(syntax.name))?.[1];
  return undefined;
}

/** Whether {@link completeRow} may have something to add to records with these fields. */
export function isShaped(fields: Iterable<string>): boolean {
  for (const field of fields) if (shaped.some((start) => field.startsWith(start))) return true;
  return false;
}

/**
 * Adds what follows from the fields of one row, so that a reading has the same fields whatever the MIB gives of it:
 * - `system.cpu.util.pct`: what is not idle, else the average of one minute, five minutes, five seconds.
 * - `system.memory.total.bytes`, `.used.bytes`, `.free.bytes`: the third of two; `.used.pct`. Buffers and caches are not used.
 * - `system.memory.*` of a storage area that is main memory (hrStorageRam).
 * - `hw.sensor.type`, `.unit`: as the row says, else as the attribute's syntax does (`sensor`), else the sensor's name;
 *   `.name`: the entity's.
 *
 * What is there already stays.
 */
export function completeRow(fields: RecordFields, sensor?: SensorKind): void {
  if (fields.get("storage.type.name") === "ram") copyStorage(fields);
  completeCpu(fields);
  completeMemory(fields);
  completeSensor(fields, sensor);
}

function completeCpu(fields: RecordFields): void {
  const util = "system.cpu.util.pct";
  if (fields.has(util)) return;
  const idle = number(fields, "system.cpu.idle.pct");
  if (idle !== undefined && idle >= 0 && idle <= 100) {
    fields.set(util, round(100 - idle));
    return;
  }
  for (const span of ["1m", "5m", "5s"]) {
    const average = fields.get(`system.cpu.util.${span}.pct`);
    if (average === undefined) continue;
    fields.set(util, average);
    return;
  }
}

function copyStorage(fields: RecordFields): void {
  for (const [from, to] of [
    ["storage.name", "system.memory.name"],
    ["storage.total.bytes", "system.memory.total.bytes"],
    ["storage.used.bytes", "system.memory.used.bytes"],
  ] as const) {
    const value = fields.get(from);
    if (value !== undefined && !fields.has(to)) fields.set(to, value);
  }
}

function completeMemory(fields: RecordFields): void {
  const read = (part: string): number | undefined => number(fields, `system.memory.${part}.bytes`);
  const put = (part: string, value: number): void => {
    if (value >= 0) fields.set(`system.memory.${part}.bytes`, value);
  };
  const [total, used, free] = [read("total"), read("used"), read("free")];
  if (total === undefined && used !== undefined && free !== undefined) put("total", used + free);
  if (used === undefined && total !== undefined && free !== undefined)
    put("used", total - free - (read("buffers") ?? 0) - (read("cached") ?? 0));
  if (free === undefined && total !== undefined && used !== undefined) put("free", total - used);
  const [whole, part] = [read("total"), read("used")];
  if (whole === undefined || part === undefined || whole <= 0 || part > whole) return;
  if (!fields.has("system.memory.used.pct")) fields.set("system.memory.used.pct", round((part / whole) * 100));
}

/** Type, unit, and what a reading is divided by, by the label of EntitySensorDataType (RFC 3433) or what vendors have for it. */
const dataTypes: Readonly<Record<string, readonly [type: string, unit: string, divide?: number]>> = {
  "volts ac": ["voltage", "V"],
  "volts dc": ["voltage", "V"],
  amperes: ["current", "A"],
  watts: ["power", "W"],
  hertz: ["frequency", "Hz"],
  celsius: ["temperature", "Cel"],
  "percent rh": ["humidity", "%"],
  rpm: ["fan", "rpm"],
  cmm: ["airflow", "m3/min"],
  "d bm": ["optical_power", "dBm"],
  "d v": ["voltage", "V", 10],
  "d a": ["current", "A", 10],
  "d w": ["power", "W", 10],
};

/** What the name of a sensor says of its type, where nothing else does. */
const typesByName: readonly (readonly [RegExp, type: string, unit: string])[] = [
  [/temp|therm|celsius|°c/i, "temperature", "Cel"],
  [/fan|rpm/i, "fan", "rpm"],
  [/humid/i, "humidity", "%"],
  [/volt|^[+-]?\d+(?:\.\d+)? ?v|\bv(?:cc|dd|core|ref|tt|bat|in)/i, "voltage", "V"],
  [/current|\bamp/i, "current", "A"],
  [/power|watt/i, "power", "W"],
];

function completeSensor(fields: RecordFields, byAttribute: SensorKind | undefined): void {
  if (!fields.has("hw.sensor.value") && !fields.has("hw.sensor.state.name")) return;
  const entity = fields.get("entity.name") ?? fields.get("component.descr");
  if (entity !== undefined && !fields.has("hw.sensor.name")) fields.set("hw.sensor.name", entity);
  const dataType = fields.get("hw.sensor.data_type.name");
  const known = typeof dataType === "string" ? dataTypes[dataType] : undefined;
  const value = number(fields, "hw.sensor.value");
  if (known?.[2] !== undefined && value !== undefined) fields.set("hw.sensor.value", value / known[2]);
  const kind = known ?? (value === undefined ? undefined : byAttribute) ?? byName(fields);
  if (kind === undefined) return;
  if (!fields.has("hw.sensor.type")) fields.set("hw.sensor.type", kind[0]);
  if (value !== undefined && fields.get("hw.sensor.type") === kind[0] && !fields.has("hw.sensor.unit"))
    fields.set("hw.sensor.unit", kind[1]);
}

function byName(fields: RecordFields): SensorKind | undefined {
  const name = fields.get("hw.sensor.name");
  const found = typeof name === "string" ? typesByName.find(([pattern]) => pattern.test(name)) : undefined;
  return found && [found[1], found[2]];
}

function number(fields: RecordFields, field: string): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
