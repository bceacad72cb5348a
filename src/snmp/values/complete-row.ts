import type { RecordFields } from "../../record/index.ts";
import { numberOf, roundTo } from "./field-number.ts";
import { completeSensor, sensorCopies, type SensorKind } from "./complete-sensor.ts";
import { dropImplausibleSensor } from "./plausibility.ts";

const receives = /\brx|receive|\brcv/i;
const transmits = /\btx|transmit/i;
const isInTransceiver = /transceiver|\bdom\b|\bx?[sq]fp|xcvr|optic|\blaser/i;

/**
 * Sensors of ENTITY-SENSOR-MIB and similar modules differ by name alone: those that are in a transceiver also have its
 * fields, as tables of transceivers do. Optical power in watts becomes dBm.
 */
function completeTransceiver(fields: RecordFields): void {
  const value = numberOf(fields, "hw.sensor.value");
  const name = fields.get("hw.sensor.name");
  if (value === undefined || typeof name !== "string") return;
  const [field, reading] = transceiverField(fields.get("hw.sensor.type"), name, value) ?? [];
  if (field !== undefined && reading !== undefined && !fields.has(field)) fields.set(field, reading);
}

function transceiverField(type: unknown, name: string, value: number): readonly [string, number] | undefined {
  const side = receives.test(name) ? "rx" : transmits.test(name) ? "tx" : undefined;
  const isInside = isInTransceiver.test(name);
  if (type === "optical_power") return side && [`transceiver.${side}.power`, value];
  // IOS XR names no transceiver in its sensors. No electrical sensor has a side, and no transceiver a watt.
  if (type === "power" && side !== undefined && (isInside || value <= 1) && value > 0)
    return [`transceiver.${side}.power`, dbmOfWatts(value)];
  if (type === "current" && /bias/i.test(name)) return ["transceiver.tx.bias", value];
  if (!isInside) return undefined;
  if (type === "temperature") return ["transceiver.temperature", value];
  return type === "voltage" ? ["transceiver.voltage", value] : undefined;
}

function dbmOfWatts(watts: number): number {
  return roundTo(10 * Math.log10(watts * 1000), 1000);
}

/** Memories of the device and of what it controls. */
const memories = ["system.memory", "wireless.ap.memory"] as const;

/** Starts of the names of fields that have one shape whatever the MIB. */
const shaped = [
  "system.cpu.",
  ...memories.map((memory) => `${memory}.`),
  "hw.sensor.",
  "storage.",
  ...sensorCopies.keys(),
];

/** Whether {@link completeRow} may have something to add to records with these fields. */
export function isShaped(fields: Iterable<string>): boolean {
  for (const field of fields) if (shaped.some((start) => field.startsWith(start))) return true;
  return false;
}

/**
 * Adds what follows from the fields of one row, so that a reading has the same fields whatever the MIB gives of it:
 * - `system.cpu.util.pct`: what is not idle, else the average of one minute, five minutes, five seconds.
 * - `system.memory.total.bytes`, `.used.bytes`, `.free.bytes`: the third of two; `.used.pct`, also of `.free.pct`. Buffers and caches are not used.
 *   A pool of size 0 is none. So is `wireless.ap.memory`.
 * - `system.memory.*` of a storage area that is main memory (hrStorageRam).
 * - `hw.sensor.type`, `.unit`: as the row says, else as the attribute's syntax does (`sensor`), else the sensor's name;
 *   `.name`: the entity's. Temperatures of batteries, disks and probes are sensors, too.
 * - `transceiver.rx.power` and so on, of sensors whose name says that they are in a transceiver.
 *
 * What is there already stays, but for the reading of a sensor that its unit rules out.
 *
 * @param ranged the fields whose definition gives the range of their readings.
 * @returns how many readings were taken away.
 */
export function completeRow(
  fields: RecordFields,
  sensor?: SensorKind,
  ranged: ReadonlySet<string> = new Set(),
): number {
  if (isMainMemory(fields)) copyStorage(fields);
  completeCpu(fields);
  for (const memory of memories) completeMemory(fields, memory);
  completeSensor(fields, sensor);
  const dropped = dropImplausibleSensor(fields, ranged);
  completeTransceiver(fields);
  return dropped;
}

function completeCpu(fields: RecordFields): void {
  const util = "system.cpu.util.pct";
  if (fields.has(util)) return;
  const idle = numberOf(fields, "system.cpu.idle.pct");
  if (idle !== undefined && idle >= 0 && idle <= 100) {
    fields.set(util, roundTo(100 - idle, 100));
    return;
  }
  for (const span of ["1m", "5m", "5s"]) {
    const average = fields.get(`system.cpu.util.${span}.pct`);
    if (average === undefined) continue;
    fields.set(util, average);
    return;
  }
}

/** Agents that know no hrStorageRam name it. */
function isMainMemory(fields: RecordFields): boolean {
  if (fields.get("storage.type.name") === "ram") return true;
  const name = fields.get("storage.name");
  return typeof name === "string" && /^(?:(?:main|real|physical|system) memory|memory|ram)$/i.test(name.trim());
}

function copyStorage(fields: RecordFields): void {
  for (const [from, to] of [
    ["storage.name", "system.memory.name"],
    ["storage.total.bytes", "system.memory.total.bytes"],
    ["storage.used.bytes", "system.memory.used.bytes"],
    ["storage.free.bytes", "system.memory.free.bytes"],
  ] as const) {
    const value = fields.get(from);
    if (value !== undefined && !fields.has(to)) fields.set(to, value);
  }
}

function completeMemory(fields: RecordFields, memory: (typeof memories)[number]): void {
  const usedShare = `${memory}.used.pct`;
  const rest = numberOf(fields, `${memory}.free.pct`);
  if (rest !== undefined && rest >= 0 && rest <= 100 && !fields.has(usedShare))
    fields.set(usedShare, roundTo(100 - rest, 100));
  const read = (part: string): number | undefined => numberOf(fields, `${memory}.${part}.bytes`);
  const put = (part: string, value: number): void => {
    if (value >= 0) fields.set(`${memory}.${part}.bytes`, value);
  };
  if (read("total") === 0) {
    for (const part of poolSizes) fields.delete(`${memory}.${part}`);
    return;
  }
  const [total, used, free] = [read("total"), read("used"), read("free")];
  if (total === undefined && used !== undefined && free !== undefined) put("total", used + free);
  if (used === undefined && total !== undefined && free !== undefined)
    put("used", total - free - (read("buffers") ?? 0) - (read("cached") ?? 0));
  if (free === undefined && total !== undefined && used !== undefined) put("free", total - used);
  const [whole, part] = [read("total"), read("used")];
  if (whole === undefined || part === undefined || whole <= 0 || part > whole) return;
  if (!fields.has(usedShare)) fields.set(usedShare, roundTo((part / whole) * 100, 100));
}

/** What a pool of size 0 says nothing by: there is none. */
const poolSizes = ["total.bytes", "used.bytes", "free.bytes", "used.pct", "free.pct"];
