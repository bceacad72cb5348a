import { formatAddressBytes } from "../../base/ip/index.ts";
import type { RecordFields, Scalar } from "../../record/index.ts";
import { convertValue, decibelOfMilliwatts } from "./convert-value.ts";
import { typeOfSensor } from "./complete-row.ts";
import { formatDisplayString, formatMac } from "./convert-value.ts";
import { isOutside, putImplausible } from "./put-value.ts";
import { putValue, type FieldDefinition, type NameTables } from "./put-value.ts";
import { readNumber, scaleNumber } from "./convert-value.ts";
import type { SnmpValue } from "./convert-value.ts";
import type { SyntaxKind } from "./syntaxes-and-units.ts";

/** The definition of an attribute, with its value in a row. */
export type Cell = readonly [FieldDefinition, SnmpValue];

/** The definitions whose values are not in the record. */
export interface LeftOut {
  /** The definitions whose value does not fit the syntax. */
  readonly unreadable: readonly FieldDefinition[];
  /** The definitions whose value is implausible for any device. */
  readonly implausible: readonly FieldDefinition[];
}

/**
 * Adds the values of one row, or of a group of scalars, to a record. Some syntaxes need another value of the row:
 *
 * - `BytesBlocks` is multiplied by the `BytesBlockSize`.
 * - `EntitySensorValue` is shifted by its `EntitySensorScale` and `EntitySensorPrecision` (RFC 3433).
 * - `PowerCentiDbmOrMicroWatt` depends on the other powers, and `SensorNumberOrMilliVolt` on the name of the sensor.
 * - `FactoredValue` is multiplied by its `ValueFactor`, or divided by a negative one.
 * - `LldpChassisId` and `LldpPortId` are addresses or names of the kind in `LldpChassisIdSubtype` and `LldpPortIdSubtype`.
 *
 * A reading outside the bounds of its definition is left out, and its state says so.
 */
export function putRow(fields: RecordFields, cells: readonly Cell[], names: NameTables): LeftOut {
  const unreadable: FieldDefinition[] = [];
  const outside: FieldDefinition[] = [];
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as Cell;
    const target = cell[0];
    const value = cell[1];
    const read = byNeighbour[target.syntax.kind] ?? ((target.bounds ?? target.scale) && readBounded);
    if (read !== undefined) {
      const converted = scaled(read(value, cells, target), cells, target.scale);
      if (converted === undefined) unreadable.push(target);
      else if (isOutside(converted, target.bounds)) outside.push(target);
      else if (converted !== "") fields.set(target.field, converted);
    } else if (!putValue(fields, target, value, names)) {
      unreadable.push(target);
    }
  }
  for (const { field } of outside) putImplausible(fields, field);
  return { unreadable, implausible: outside };
}

/**
 * Returns a reading whose scale is in another attribute of the row or in a part of its index. Without the scale there is no reading.
 */
function scaled(
  reading: Scalar | undefined,
  cells: readonly Cell[],
  scale: FieldDefinition["scale"],
): Scalar | undefined {
  if (scale === undefined || reading === undefined) return reading;
  const { attribute, index } = scale;
  // A part of the index has no name of its own.
  const by = cells.find(([{ name, field }]) => name === attribute && (index === undefined || field === index))?.[1];
  if (by === undefined || (typeof reading !== "number" && typeof reading !== "bigint")) return undefined;
  const said = by.value instanceof Uint8Array ? formatDisplayString(by.value).trim() : String(by.value);
  const factor = scale.factors?.get(said.toLowerCase());
  if (scale.factors !== undefined) return factor === undefined ? undefined : withoutNoise(Number(reading) * factor);
  const number = Number(readNumber(by) ?? Number.NaN);
  if (Number.isNaN(number)) return undefined;
  if (scale.as === "factor") return withoutNoise(Number(reading) * number);
  if (scale.as === "divisor") return number === 0 ? undefined : withoutNoise(Number(reading) / number);
  if (Math.abs(number) > maxExponent) return undefined;
  // The conversion goes through text, because a number times a power of ten is not the exact decimal.
  const [digits = "", exponent = "0"] = String(reading).split("e");
  return Number(`${digits}e${Number(exponent) + (scale.as === "digits" ? -number : number)}`);
}

/** The greatest exponent; no unit has more digits. */
const maxExponent = 24;

function withoutNoise(value: number): number {
  return Number(value.toPrecision(15));
}

/** Matches the name of a field of the same row in a text that all records of an object have. */
export const placeholder = /\{([^{}]+)\}/g;

function neighbour(cells: readonly Cell[], syntax: string): number | undefined {
  const cell = cells.find(([target]) => target.syntax.name === syntax);
  const number = cell && readNumber(cell[1]);
  return number === undefined ? undefined : Number(number);
}

/** Returns a number of blocks. Agents with more than 2^31 blocks send the negative number with the same 32 bits. */
function readBlocks(value: SnmpValue, cells: readonly Cell[]): number | bigint | undefined {
  const blocks = readNumber(value);
  const size = neighbour(cells, "BytesBlockSize");
  if (blocks === undefined || size === undefined) return undefined;
  return scaleNumber(blocks < 0 && typeof blocks === "number" ? blocks + 2 ** 32 : blocks, size, 1);
}

/** Returns a reading scaled by EntitySensorDataScale: yocto(1) to yotta(17) in steps of a thousand, units(9). */
function readSensor(value: SnmpValue, cells: readonly Cell[]): number | undefined {
  const number = readNumber(value);
  const scale = neighbour(cells, "EntitySensorScale") ?? 9;
  const precision = neighbour(cells, "EntitySensorPrecision") ?? 0;
  if (number === undefined || scale < 1 || scale > 17 || precision < -8 || precision > 9) return undefined;
  // The conversion goes through text, because a number times a power of ten is not the exact decimal.
  return Number(`${number}e${(scale - 9) * 3 - precision}`);
}

function readFactored(value: SnmpValue, cells: readonly Cell[]): number | bigint | undefined {
  const number = readNumber(value);
  const factor = neighbour(cells, "ValueFactor") ?? 1;
  if (number === undefined || !Number.isInteger(factor)) return undefined;
  return factor < 0 ? scaleNumber(number, 1, -factor) : scaleNumber(number, Math.max(1, factor), 1);
}

/**
 * Returns an optical power. Depending on the model, some agents report hundredths of a dBm or microwatts in the same column. A row with
 * a power below 0 has the former. -1 means no reading.
 */
function readOpticalPower(value: SnmpValue, cells: readonly Cell[], { syntax }: FieldDefinition): Scalar | undefined {
  const isLogarithmic = cells.some(([other, power]) => other.syntax === syntax && Number(readNumber(power) ?? 0) < -1);
  return isLogarithmic ? convertValue(syntax, value) : decibelOfMilliwatts(Number(readNumber(value)) / 1000);
}

/** Returns a reading from a table of all kinds of sensors, in which voltages are in millivolts. */
function readHealth(value: SnmpValue, cells: readonly Cell[]): number | bigint | undefined {
  const number = readNumber(value);
  const name = cells.find(([{ field }]) => field === "hw.sensor.name")?.[1].value;
  const isVoltage = name instanceof Uint8Array && typeOfSensor(formatDisplayString(name)) === "voltage";
  return number !== undefined && isVoltage ? scaleNumber(number, 1, 1000) : number;
}

/** The length of six octets as text. */
const macLength = 17;

/**
 * Returns the reader of an id by its subtype (IEEE 802.1AB): macAddress, or networkAddress with a number for the address family before
 * the address.
 */
const readLldpId =
  (subtypeSyntax: string, macAddress: number, networkAddress: number): Reader =>
  (value, cells, { syntax }) => {
    const octets = value.value;
    const subtype = neighbour(cells, subtypeSyntax);
    if (octets instanceof Uint8Array) {
      const mac = subtype === macAddress ? formatMac(octets) : "";
      if (mac.length === macLength) return mac;
      const family = subtype === networkAddress ? octets[0] : undefined;
      if (family === 1 && octets.length === 5) return formatAddressBytes(octets, 1, 4);
      if (family === 2 && octets.length === 17) return formatAddressBytes(octets, 1, 6);
    }
    return convertValue(syntax, value);
  };

const readBounded: Reader = (value, _, { syntax }) => convertValue(syntax, value);

type Reader = (value: SnmpValue, cells: readonly Cell[], target: FieldDefinition) => Scalar | undefined;

const byNeighbour: { readonly [kind in SyntaxKind]?: Reader } = {
  blocks: readBlocks,
  sensor: readSensor,
  factored: readFactored,
  "optical-power": readOpticalPower,
  health: readHealth,
  "lldp-chassis-id": readLldpId("LldpChassisIdSubtype", 4, 5),
  "lldp-port-id": readLldpId("LldpPortIdSubtype", 3, 4),
};
