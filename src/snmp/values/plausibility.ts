import type { RecordFields, Value } from "../../record/index.ts";
import type { Syntax, Unit } from "./syntax.ts";

/** The least and the greatest reading that a device can mean. */
export type Bounds = readonly [least: number, most: number];

/** What the state of a field says whose value was left out because no device can mean it. */
const implausible = "implausible";

/** Units that only sensors have: see {@link completeSensor}. */
type SensorUnit = Unit | "Wh" | "m3/min" | "rpm";

/**
 * Bounds by unit. They are wide: what lies outside is a mark for "no reading" that the MIB does not name (−128, −255,
 * 65408, 2^31 − 1), a number that has lost its sign or its scale, or a fault of the agent. Room for air and electronics,
 * the largest feeds of a data centre, aggregates of the fastest interfaces.
 */
export const boundsByUnit: Readonly<Partial<Record<SensorUnit, Bounds>>> = {
  "%": [0, 1000],
  A: [-100_000, 100_000],
  By: [0, Number.POSITIVE_INFINITY],
  Cel: [-100, 250],
  Hz: [0, 1e13],
  V: [-1_000_000, 1_000_000],
  VA: [0, 1e9],
  W: [-1e9, 1e9],
  "W.h": [0, 1e15],
  Wh: [0, 1e15],
  "bit/s": [0, 5e14],
  dBm: [-200, 100],
  "m3/min": [0, 1e6],
  ms: [0, Number.POSITIVE_INFINITY],
  rpm: [0, 300_000],
};

/** Names of shares of a whole. A load or a ratio may be more than 100 %, and rounding makes 100 a little more. */
const shareOfWhole = /(?:^|\.)(?:cpu|memory|storage|disk|heap|charge|humidity)\.(?!(?:\w+\.)?load\.)/;
const shareBounds: Bounds = [0, 101];

/** Light in a fibre. A radio hears less: noise is at -100 dBm. */
const opticalPower = /^transceiver\..*power$/;
const opticalBounds: Bounds = [-70, 70];

const counterBounds: Bounds = [0, Number.POSITIVE_INFINITY];

/** The bounds of an attribute by its syntax; undefined where any number is as likely as another. */
export function boundsOf(field: string, { unit }: Syntax, isCounter: boolean): Bounds | undefined {
  if (isCounter) return counterBounds;
  if (unit === "%" && shareOfWhole.test(field)) return shareBounds;
  if (unit === "dBm" && opticalPower.test(field)) return opticalBounds;
  return unit && boundsByUnit[unit];
}

/** Returns whether a value is a reading outside of its bounds. */
export function isOutside(value: Value | undefined, bounds: Bounds | undefined): boolean {
  if (bounds === undefined || (typeof value !== "number" && typeof value !== "bigint")) return false;
  return value < bounds[0] || value > bounds[1];
}

/** Returns the field that says why another one is not in the record. */
export function stateField(field: string): string {
  return `${field.replace(/\.(?:pct|bytes)$/, "")}_state.name`;
}

/** Puts the state of a reading that is left out, unless the record has one. */
export function putImplausible(fields: RecordFields, field: string): void {
  const state = stateField(field);
  if (!fields.has(state)) fields.set(state, implausible);
}

const sensorReadings = [
  "hw.sensor.value",
  "hw.sensor.limit.high",
  "hw.sensor.limit.high_critical",
  "hw.sensor.limit.low",
  "hw.sensor.limit.low_critical",
];

/**
 * Takes away the readings of a sensor that its unit rules out, where only the row says which unit that is.
 *
 * @param ranged the fields whose definition gives a range.
 * @returns how many were taken away.
 */
export function dropImplausibleSensor(fields: RecordFields, ranged: ReadonlySet<string>): number {
  const unit = fields.get("hw.sensor.unit");
  const bounds = typeof unit === "string" ? boundsByUnit[unit as SensorUnit] : undefined;
  let dropped = 0;
  for (const field of sensorReadings) {
    if (ranged.has(field) || !isOutside(fields.get(field), bounds)) continue;
    fields.delete(field);
    putImplausible(fields, field);
    dropped++;
  }
  return dropped;
}
