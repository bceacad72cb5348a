import type { RecordFields } from "../../record/index.ts";
import { type FieldDefinition, dropImplausibleSensor } from "./put-value.ts";
import type { Unit } from "./syntaxes-and-units.ts";

function numberOf(fields: RecordFields, field: string): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

/** Rounds a value. @param parts the number of parts of 1 to keep: 100 for two decimals. */
function roundTo(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

/** `hw.sensor.type` and `hw.sensor.unit`, and the divisor that converts a reading to that unit. */
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

/** Returns the sensor kind of an object's attribute `hw.sensor.value`, if its syntax gives it. */
export function sensorKindOf(attributes: Iterable<FieldDefinition>): SensorKind | undefined {
  for (const { field, syntax } of attributes)
    if (field === "hw.sensor.value") return syntax.unit && kindsBySyntaxUnit[syntax.unit];
  return undefined;
}

/** The kinds by the label of EntitySensorDataType (RFC 3433) or the vendors' equivalents. */
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

/** The kinds by the unit that a device writes, in lower case and without "degrees" and its sign. */
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

/** The kinds by the name of a sensor, for sensors of which nothing else gives the type. */
const typesByName: readonly (readonly [RegExp, type: string, unit: string])[] = [
  [/temp|therm|celsius|°c/i, "temperature", "Cel"],
  [/fan|rpm/i, "fan", "rpm"],
  [/humid/i, "humidity", "%"],
  [/volt|^[+-]?\d+(?:\.\d+)? ?v|v(?:cc|dd|core|ref|tt|bat)|\bvin/i, "voltage", "V"],
  [/current|\bamp/i, "current", "A"],
  [/power|watt/i, "power", "W"],
];

interface SensorCopy {
  /** The name of the sensor, or the field that contains it. */
  readonly name?: string;
  readonly nameField?: string;
  /** The kind, or the field that contains its unit; left out for a temperature in degrees Celsius. */
  readonly kind?: SensorKind;
  readonly unitField?: string;
  /** The label that a field of the row must have. */
  readonly when?: readonly [field: string, label: string];
}

const celsius: SensorKind = ["temperature", "Cel"];

/** The readings that have names of their own. A record has one sensor: the first of these. */
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

/** Adds the fields of `hw.sensor` that {@link completeRow} lists. */
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
  // All other amperage probes of Dell report milliamperes.
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

/** Returns a temperature in Celsius, or another reading in its unit, whatever unit is written or enumerated. */
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

/** Returns the type of a sensor according to its name. */
export function typeOfSensor(name: string): string | undefined {
  return kindOfName(name)?.[0];
}

const receives = /\brx|receive|\brcv/i;
const transmits = /\btx|transmit/i;
const isInTransceiver = /transceiver|\bdom\b|\bx?[sq]fp|xcvr|optic|\blaser/i;

/**
 * Adds the fields of a transceiver. Sensors of ENTITY-SENSOR-MIB and similar modules differ only by name, so those in a transceiver get
 * the same fields as tables of transceivers. Optical power in watts becomes dBm.
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
  // IOS XR does not mention the transceiver in the names of its sensors. No electrical sensor has a side, and no transceiver a watt.
  if (type === "power" && side !== undefined && (isInside || value <= 1) && value > 0)
    return [`transceiver.${side}.power`, dbmOfWatts(value)];
  if (type === "current" && /bias/i.test(name)) return ["transceiver.tx.bias", value];
  if (!isInside) return undefined;
  if (type === "temperature") return ["transceiver.temperature", value];
  return type === "voltage" ? ["transceiver.voltage", value] : undefined;
}

/** The readings of tables with columns for four lanes. */
const laneReadings = [
  ["rx", "power"],
  ["tx", "power"],
  ["tx", "bias"],
] as const;

/** Copies the readings of the only lane to the transceiver with that lane. */
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

/** The memories of the device and of the devices that it controls. */
const memories = ["system.memory", "wireless.ap.memory"] as const;

/** The prefixes of the names of fields that look the same for all MIBs. */
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

/** The shares for which a row has the part and the whole. */
const shares = [
  { share: "storage.used.pct", part: "storage.used.bytes", whole: "storage.total.bytes" },
  { share: "printer.supply.remaining.pct", part: "printer.supply.level", whole: "printer.supply.capacity" },
  { share: "printer.input.remaining.pct", part: "printer.input.level", whole: "printer.input.capacity" },
] as const;

/** Reports whether {@link completeRow} may add something to records with these fields. */
export function isShaped(fields: Iterable<string>): boolean {
  for (const field of fields) if (shaped.some((start) => field.startsWith(start))) return true;
  return false;
}

/**
 * Completes a row with the fields that follow from its other fields, so that a reading has the same fields for all MIBs. Fields that
 * are present stay, except the reading of a sensor that is implausible for its unit. It adds:
 *
 * - `system.cpu.util.pct`: the share that is not idle; otherwise the average of one minute, five minutes, or five seconds.
 * - `system.memory.total.bytes`, `.used.bytes`, `.free.bytes`: the third from the other two; `.used.pct`, also from `.free.pct`. Buffers and
 *   caches do not count as used. If there is only a whole and its used share, it adds the used and free bytes. A pool of size 0 does
 *   not exist. The same applies to `wireless.ap.memory`.
 * - `storage.used.pct`, `printer.supply.remaining.pct`, `printer.input.remaining.pct`: from the size or capacity in the row.
 * - `system.memory.*`: from a storage area that is main memory (hrStorageRam).
 * - `hw.sensor.type`, `.unit`: from the row, otherwise from the attribute's syntax (`sensor`), otherwise from the sensor's name;
 *   `.name`: that of the entity. Temperatures of batteries, disks and probes are sensors, too.
 * - `transceiver.rx.power` and so on: from sensors whose name shows that they are in a transceiver, and from the first lane if it is the
 *   only one.
 *
 * @param ranged the fields whose definition gives the range of their readings.
 * @returns the number of readings removed.
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

/** Reports whether a storage area is main memory; some agents do not know hrStorageRam, but name it. */
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

/** Adds shares of a whole. A part greater than the whole is no share, and a whole of 0 has no shares. */
function completeShares(fields: RecordFields): void {
  for (const { share, part, whole } of shares) {
    const [held, size] = [numberOf(fields, part), numberOf(fields, whole)];
    if (held === undefined || size === undefined || held < 0 || size <= 0 || held > size) continue;
    if (!fields.has(share)) fields.set(share, roundTo((held / size) * 100, 100));
  }
}

/** The fields that mean nothing if the size of a pool is 0, because then there is no such pool. */
const poolSizes = ["total.bytes", "used.bytes", "free.bytes", "used.pct", "free.pct"];
