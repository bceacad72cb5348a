import type { RecordFields } from "../../record/index.ts";
import { putValue, type FieldDefinition, type NameTables } from "./put-value.ts";
import { readNumber, scaleNumber } from "./read-number.ts";
import type { SnmpValue } from "./snmp-value.ts";

/** One attribute's definition and its value in a row. */
export type Cell = readonly [FieldDefinition, SnmpValue];

/**
 * Puts the values of one row, or of a group of scalars, into a record. Some syntaxes need a neighbour in the row:
 * `BytesBlocks` is times the `BytesBlockSize`, `EntitySensorValue` is shifted by its `EntitySensorScale` and
 * `EntitySensorPrecision` (RFC 3433), and `FactoredValue` is times its `ValueFactor`, or divided by a negative one.
 *
 * @returns the definitions whose value is not one of their syntax; the record has nothing of them.
 */
export function putRow(fields: RecordFields, cells: readonly Cell[], names: NameTables): FieldDefinition[] {
  const unreadable: FieldDefinition[] = [];
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i] as Cell;
    const target = cell[0];
    const value = cell[1];
    const { kind } = target.syntax;
    if (kind === "blocks" || kind === "sensor" || kind === "factored") {
      const number = ofNeighbour[kind](value, cells);
      if (number === undefined) unreadable.push(target);
      else fields.set(target.field, number);
    } else if (!putValue(fields, target, value, names)) {
      unreadable.push(target);
    }
  }
  return unreadable;
}

function neighbour(cells: readonly Cell[], syntax: string): number | undefined {
  const cell = cells.find(([target]) => target.syntax.name === syntax);
  const number = cell && readNumber(cell[1]);
  return number === undefined ? undefined : Number(number);
}

/** Agents with more than 2^31 blocks answer with the negative number of the same 32 bits. */
function readBlocks(value: SnmpValue, cells: readonly Cell[]): number | bigint | undefined {
  const blocks = readNumber(value);
  const size = neighbour(cells, "BytesBlockSize");
  if (blocks === undefined || size === undefined) return undefined;
  return scaleNumber(blocks < 0 && typeof blocks === "number" ? blocks + 2 ** 32 : blocks, size, 1);
}

/** EntitySensorDataScale: yocto(1) to yotta(17) in steps of a thousand, units(9). */
function readSensor(value: SnmpValue, cells: readonly Cell[]): number | undefined {
  const number = readNumber(value);
  const scale = neighbour(cells, "EntitySensorScale") ?? 9;
  const precision = neighbour(cells, "EntitySensorPrecision") ?? 0;
  if (number === undefined || scale < 1 || scale > 17 || precision < -8 || precision > 9) return undefined;
  // Through text, because a power of ten times a number is not the decimal that was meant.
  return Number(`${number}e${(scale - 9) * 3 - precision}`);
}

function readFactored(value: SnmpValue, cells: readonly Cell[]): number | bigint | undefined {
  const number = readNumber(value);
  const factor = neighbour(cells, "ValueFactor") ?? 1;
  if (number === undefined || !Number.isInteger(factor)) return undefined;
  return factor < 0 ? scaleNumber(number, 1, -factor) : scaleNumber(number, Math.max(1, factor), 1);
}

const ofNeighbour = { blocks: readBlocks, sensor: readSensor, factored: readFactored };
