import type { RecordFields } from "../../record/index.ts";
import { type FieldDefinition, dropImplausibleSensor } from "./put-value.ts";
import type { Unit } from "./syntaxes-and-units.ts";

function numberOf(fields: RecordFields, field: string): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

/** @param parts how many parts of 1 are kept: 100 for two decimals. */
function roundTo(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

/** `hw.sensor.type` and `hw.sensor.unit`, and what a reading is divided by to be of that unit. */
export type SensorKind = readonly [type: string, unit: string, divide?: number];

const kindsBySyntaxUnit: { readonly [unit in Unit]?: SensorKind } = {
  Cel: ["temperature", "Cel"],
  V: ["voltage", "V"],
  A: ["current", "A"],
  dBm: ["optical_power", "dBm"],
  VA: ["apparent_power", "VA"],
  W: ["power", "W"],
  Hz: ["frequency", "Hz"],
};

/** Returns the sensor kind of an object's attribute `hw.sensor.value`, as far as its syntax gives it. */
export function sensorKindOf(attributes: Iterable<FieldDefinition>): SensorKind | undefined {
  for (const { field, syntax } of attributes)
    if (field === "hw.sensor.value") return syntax.unit && kindsBySyntaxUnit[syntax.unit];
  return undefined;
}

/** By the label of EntitySensorDataType (RFC 3433) or what vendors have for it. */
const dataTypes: Readonly<Record<string, SensorKind>> = {
  "volts ac": ["voltage", "V"],
  "volts dc": ["voltage", "V"],
  amperes: ["current", "A"],
  watts: ["power", "W"],
  hertz: ["frequency", "Hz"],
  celsius: ["temperature", "Cel"],
  "percent rh": ["humidity", "%"],
  rpm: ["fan", "rpm"],
  cmm: ["airflow", "m3/min"],
  dbm: ["optical_power", "dBm"],
  "d bm": ["optical_power", "dBm"],
  "d v": ["voltage", "V", 10],
  "d a": ["current", "A", 10],
  "d w": ["power", "W", 10],
  temperature: ["temperature", "Cel"],
  "temperature sensors": ["temperature", "Cel"],
  fans: ["fan", "rpm"],
  humidity: ["humidity", "%"],
  "rms current": ["current", "A"],
  "rms voltage": ["voltage", "V"],
  "active power": ["power", "W"],
  "apparent power": ["apparent_power", "VA"],
  "active energy": ["energy", "Wh"],
  frequency: ["frequency", "Hz"],
  "peak current": ["current", "A"],
  "residual current": ["current", "A"],
  "rms voltage ln": ["voltage", "V"],
  "unbalanced current": ["unbalance", "%"],
  "reactive power": ["reactive_power", "var"],
  "apparent energy": ["apparent_energy", "VAh"],
  "power factor": ["power_factor", "1"],
  "phase angle": ["phase_angle", "deg"],
  "fan speed": ["fan", "rpm"],
  "amperage probe type is power supply amps": ["current", "A", 10],
  "amperage probe type is system amps": ["current", "A", 10],
  "amperage probe type is power supply watts": ["power", "W"],
  "amperage probe type is system watts": ["power", "W"],
};

/** By the unit that a device writes, in lower case and without "degrees" and its sign. */
const kindsByUnit: Readonly<Record<string, SensorKind>> = {
  c: ["temperature", "Cel"],
  cel: ["temperature", "Cel"],
  celsius: ["temperature", "Cel"],
  centigrade: ["temperature", "Cel"],
  f: ["temperature", "Cel"],
  fahrenheit: ["temperature", "Cel"],
  v: ["voltage", "V"],
  volt: ["voltage", "V"],
  volts: ["voltage", "V"],
  mv: ["voltage", "V", 1000],
  a: ["current", "A"],
  amp: ["current", "A"],
  amps: ["current", "A"],
  ma: ["current", "A", 1000],
  w: ["power", "W"],
  watt: ["power", "W"],
  watts: ["power", "W"],
  va: ["apparent_power", "VA"],
  voltamp: ["apparent_power", "VA"],
  wh: ["energy", "Wh"],
  kwh: ["energy", "Wh", 0.001],
  hz: ["frequency", "Hz"],
  hertz: ["frequency", "Hz"],
  rpm: ["fan", "rpm"],
  dbm: ["optical_power", "dBm"],
  "percent rh": ["humidity", "%"],
};

/** Types that follow from the name of a sensor, where nothing else gives them. */
const typesByName: readonly (readonly [RegExp, type: string, unit: string])[] = [
  [/temp|therm|celsius|°c/i, "temperature", "Cel"],
  [/fan|rpm/i, "fan", "rpm"],
  [/humid/i, "humidity", "%"],
  [/volt|^[+-]?\d+(?:\.\d+)? ?v|v(?:cc|dd|core|ref|tt|bat)|\bvin/i, "voltage", "V"],
  [/current|\bamp/i, "current", "A"],
  [/power|watt/i, "power", "W"],
];

interface SensorCopy {
  /** The name of the sensor, or the field that has it. */
  readonly name?: string;
  readonly nameField?: string;
  /** The kind, or the field that has its unit, where it is no temperature in degrees Celsius. */
  readonly kind?: SensorKind;
  readonly unitField?: string;
  /** The label that a field of the row must have. */
  readonly when?: readonly [field: string, label: string];
}

const celsius: SensorKind = ["temperature", "Cel"];

/** Readings that have names of their own. A record has one sensor: the first of these. */
const sensorCopies: ReadonlyMap<string, SensorCopy> = new Map([
  ["ups.battery.temperature", { name: "battery" }],
  ["disk.temperature", { nameField: "disk.name" }],
  ["pdu.sensor.temperature", { nameField: "pdu.sensor.name" }],
  ["pdu.sensor.humidity.pct", { nameField: "pdu.sensor.name", kind: ["humidity", "%"] }],
  [
    "cmc.variable.value",
    {
      nameField: "cmc.variable.name",
      unitField: "cmc.variable.unit",
      when: ["cmc.variable.type.name", "value"],
    },
  ],
]);

/** Adds what {@link completeRow} says of `hw.sensor`. */
function completeSensor(fields: RecordFields, byAttribute: SensorKind | undefined): void {
  copyReadings(fields);
  if (!fields.has("hw.sensor.value") && !fields.has("hw.sensor.state.name")) return;
  const entity = fields.get("entity.name") ?? fields.get("component.descr");
  if (entity !== undefined && !fields.has("hw.sensor.name")) fields.set("hw.sensor.name", entity);
  const value = numberOf(fields, "hw.sensor.value");
  const said = byLabel(fields) ?? byUnit(fields);
  if (said !== undefined && value !== undefined) fields.set("hw.sensor.value", inUnit(fields, value, said));
  const kind = said ?? (value === undefined ? undefined : byAttribute) ?? byName(fields);
  if (kind === undefined) return;
  if (!fields.has("hw.sensor.type")) fields.set("hw.sensor.type", kind[0]);
  if (value === undefined || fields.get("hw.sensor.type") !== kind[0]) return;
  if (said !== undefined || !fields.has("hw.sensor.unit")) fields.set("hw.sensor.unit", kind[1]);
}

function copyReadings(fields: RecordFields): void {
  if (fields.has("hw.sensor.value")) return;
  for (const [field, { name, nameField, kind = celsius, unitField, when }] of sensorCopies) {
    const value = fields.get(field);
    if (value === undefined || (when !== undefined && fields.get(when[0]) !== when[1])) continue;
    const unit = unitField === undefined ? kind[1] : fields.get(unitField);
    if (unit === undefined) continue;
    fields.set("hw.sensor.value", value);
    fields.set("hw.sensor.unit", unit);
    if (unitField === undefined) fields.set("hw.sensor.type", kind[0]);
    const sensorName = name ?? (nameField === undefined ? undefined : fields.get(nameField));
    if (sensorName !== undefined && !fields.has("hw.sensor.name")) fields.set("hw.sensor.name", sensorName);
    return;
  }
}

function byLabel(fields: RecordFields): SensorKind | undefined {
  const label = fields.get("hw.sensor.data_type.name") ?? fields.get("hw.sensor.probe_type.name");
  if (typeof label !== "string") return undefined;
  // All other amperage probes of Dell's are in milliamperes.
  return dataTypes[label] ?? (label.startsWith("amperage probe") ? ["current", "A", 1000] : undefined);
}

function byUnit(fields: RecordFields): SensorKind | undefined {
  return kindsByUnit[unitWord(fields.get("hw.sensor.data_unit.name") ?? fields.get("hw.sensor.unit"))];
}

function unitWord(unit: unknown): string {
  if (typeof unit !== "string") return "";
  return unit
    .toLowerCase()
    .replace(/deg(?:rees?|\.)?|[°"\uFFFD]/g, "")
    .trim();
}

/** Celsius, whatever the unit that is written or enumerated. */
function inUnit(fields: RecordFields, value: number, [type, , divide = 1]: SensorKind): number {
  if (type !== "temperature") return divide === 1 ? value : value / divide;
  const unit = unitWord(fields.get("hw.sensor.data_unit.name") ?? fields.get("hw.sensor.unit"));
  return unit === "f" || unit === "fahrenheit" ? roundTo(((value - 32) * 5) / 9, 1000) : value;
}

function byName(fields: RecordFields): SensorKind | undefined {
  const name = fields.get("hw.sensor.name");
  return typeof name === "string" ? kindOfName(name) : undefined;
}

function kindOfName(name: string): SensorKind | undefined {
  const found = typesByName.find(([pattern]) => pattern.test(name));
  return found && [found[1], found[2]];
}

/** Returns the type of a sensor as its name says it. */
export function typeOfSensor(name: string): string | undefined {
  return kindOfName(name)?.[0];
}

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

/** Readings of tables with columns for four lanes. */
const laneReadings = [
  ["rx", "power"],
  ["tx", "power"],
  ["tx", "bias"],
] as const;

/** What a transceiver with one lane receives and sends is what its only lane does. */
function completeLane(fields: RecordFields): void {
  for (const [side, what] of laneReadings) {
    const [first, ...others] = [1, 2, 3, 4].map((lane) => fields.get(`transceiver.${side}.lane${lane}.${what}`));
    const field = `transceiver.${side}.${what}`;
    if (first !== undefined && others.every((other) => other === undefined) && !fields.has(field))
      fields.set(field, first);
  }
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
  "printer.",
  "transceiver.rx.lane1.",
  "transceiver.tx.lane1.",
  ...sensorCopies.keys(),
];

/** Shares that a row has the part and the whole of. */
const shares = [
  { share: "storage.used.pct", part: "storage.used.bytes", whole: "storage.total.bytes" },
  { share: "printer.supply.remaining.pct", part: "printer.supply.level", whole: "printer.supply.capacity" },
  { share: "printer.input.remaining.pct", part: "printer.input.level", whole: "printer.input.capacity" },
] as const;

/** Tells whether {@link completeRow} may have something to add to records with these fields. */
export function isShaped(fields: Iterable<string>): boolean {
  for (const field of fields) if (shaped.some((start) => field.startsWith(start))) return true;
  return false;
}

/**
 * Adds what follows from the fields of one row, so that a reading has the same fields whatever the MIB gives of it:
 * - `system.cpu.util.pct`: what is not idle, else the average of one minute, five minutes, five seconds.
 * - `system.memory.total.bytes`, `.used.bytes`, `.free.bytes`: the third of two; `.used.pct`, also of `.free.pct`. Buffers and caches are not used.
 *   What is used and free of a whole of which there is only the share that is used.
 *   A pool of size 0 is none. So is `wireless.ap.memory`.
 * - `storage.used.pct`, `printer.supply.remaining.pct`, `printer.input.remaining.pct`: of the size or capacity in the row.
 * - `system.memory.*` of a storage area that is main memory (hrStorageRam).
 * - `hw.sensor.type`, `.unit`: as the row says, else as the attribute's syntax does (`sensor`), else the sensor's name;
 *   `.name`: the entity's. Temperatures of batteries, disks and probes are sensors, too.
 * - `transceiver.rx.power` and so on, of sensors whose name says that they are in a transceiver; of the first lane where it is the only one.
 *
 * Completes a row. What is there already stays, but for the reading of a sensor that its unit rules out.
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
  completeShares(fields);
  completeSensor(fields, sensor);
  const dropped = dropImplausibleSensor(fields, ranged);
  completeTransceiver(fields);
  completeLane(fields);
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
  const share = numberOf(fields, usedShare);
  if (total !== undefined && used === undefined && free === undefined && share !== undefined) {
    if (share < 0 || share > 100) return;
    put("used", Math.round((total * share) / 100));
    put("free", total - Math.round((total * share) / 100));
    return;
  }
  if (total === undefined && used !== undefined && free !== undefined) put("total", used + free);
  if (used === undefined && total !== undefined && free !== undefined)
    put("used", total - free - (read("buffers") ?? 0) - (read("cached") ?? 0));
  if (free === undefined && total !== undefined && used !== undefined) put("free", total - used);
  const [whole, part] = [read("total"), read("used")];
  if (whole === undefined || part === undefined || whole <= 0 || part > whole) return;
  if (!fields.has(usedShare)) fields.set(usedShare, roundTo((part / whole) * 100, 100));
}

/** A part that is more than the whole is no share of it, and nothing is a share of nothing. */
function completeShares(fields: RecordFields): void {
  for (const { share, part, whole } of shares) {
    const [held, size] = [numberOf(fields, part), numberOf(fields, whole)];
    if (held === undefined || size === undefined || held < 0 || size <= 0 || held > size) continue;
    if (!fields.has(share)) fields.set(share, roundTo((held / size) * 100, 100));
  }
}

/** Fields that say nothing where the size of a pool is 0: there is no such pool. */
const poolSizes = ["total.bytes", "used.bytes", "free.bytes", "used.pct", "free.pct"];
