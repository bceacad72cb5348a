import type { RecordFields, Scalar } from "../../record/index.ts";

/** Starts of the names of fields that have one shape whatever the MIB. */
const shaped = ["system.cpu.", "system.memory.", "hw.sensor.", "storage."];

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
 * - `hw.sensor.type`, `.unit`: of ENTITY-SENSOR-MIB's type; `.name`: the entity's.
 *
 * What is there already stays.
 */
export function completeRow(fields: RecordFields): void {
  if (fields.get("storage.type.name") === "Ram") copyStorage(fields);
  completeCpu(fields);
  completeMemory(fields);
  completeSensor(fields);
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

/** EntitySensorDataType (RFC 3433) and what vendors added to it, as a type and a unit. */
const sensorTypes: Readonly<Record<string, readonly [type: string, unit: string]>> = {
  voltsAC: ["voltage", "V"],
  voltsDC: ["voltage", "V"],
  amperes: ["current", "A"],
  watts: ["power", "W"],
  hertz: ["frequency", "Hz"],
  celsius: ["temperature", "Cel"],
  percentRH: ["humidity", "%"],
  rpm: ["fan", "rpm"],
  cmm: ["airflow", "m3/min"],
  dBm: ["optical_power", "dBm"],
};

function completeSensor(fields: RecordFields): void {
  const dataType = fields.get("hw.sensor.data_type.name");
  const known = typeof dataType === "string" ? sensorTypes[dataType] : undefined;
  if (known !== undefined) {
    if (!fields.has("hw.sensor.type")) fields.set("hw.sensor.type", known[0]);
    if (!fields.has("hw.sensor.unit")) fields.set("hw.sensor.unit", known[1]);
  }
  if (fields.has("hw.sensor.name") || !(fields.has("hw.sensor.value") || fields.has("hw.sensor.state.name"))) return;
  const name: Scalar | undefined = fields.get("entity.name") as Scalar | undefined;
  if (name !== undefined) fields.set("hw.sensor.name", name);
}

function number(fields: RecordFields, field: string): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
