import type { RecordFields } from "../../record/index.ts";
import { numberOf, roundTo } from "./field-number.ts";

const receives = /\brx|receive|\brcv/i;
const transmits = /\btx|transmit/i;
const isInTransceiver = /transceiver|\bdom\b|\bx?[sq]fp|xcvr|optic|\blaser/i;

/**
 * Sensors of ENTITY-SENSOR-MIB and similar modules differ by name alone: those that are in a transceiver also have its
 * fields, as tables of transceivers do. Optical power in watts becomes dBm.
 */
export function completeTransceiver(fields: RecordFields): void {
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
