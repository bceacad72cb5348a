import type { RecordFields, Value } from "../../record/index.ts";
import { enumerations } from "../registry/enumerations.gen.ts";
import { forwardName, swapSides } from "./biflow-names.ts";

/** Names, or beginnings of names, of what is said of both directions at once. What else has no reverse is the first one's. */
const common = [
  "@timestamp",
  "app.",
  "flow.biflow.direction.",
  "flow.direction.",
  "flow.dst.",
  "flow.end.",
  "flow.export.",
  "flow.firewall.",
  "flow.ie.commonPropertiesId",
  "flow.ie.flowId",
  "flow.ie.observationPointId",
  "flow.ie.observationTime",
  "flow.ie.sampl",
  "flow.ie.selector",
  "flow.in.",
  "flow.middle.",
  "flow.nat.",
  "flow.out.",
  "flow.outer.",
  "flow.src.",
  "flow.start.",
  "flow.tunnel.",
  "flow.user.",
  "ip.version.",
  "l4.",
];

const reversePrefix = "flow.reverse.";

/**
 * Makes two records of one that has both directions of a biflow (RFC 5103). The given one keeps the first direction; what
 * it says of the reverse is taken out.
 *
 * @returns the record of the reverse direction: its values under the names of a flow, and what is said of both with the
 *   sides swapped. Undefined where nothing is said of it, or only that it had no bytes and no packets.
 */
export function splitBiflow(record: RecordFields): RecordFields | undefined {
  const reversed = new Map<string, Value>();
  for (const [name, value] of record) {
    if (!name.startsWith(reversePrefix)) continue;
    record.delete(name);
    reversed.set(forwardName(name.slice(reversePrefix.length)), value);
  }
  if (reversed.size === 0 || isEmptyFlow(reversed)) return undefined;
  const second: RecordFields = new Map();
  for (const [name, value] of record) {
    if (!common.some((beginning) => name.startsWith(beginning))) continue;
    const swapped = swapSides(name);
    if (!reversed.has(swapped)) second.set(swapped, value);
  }
  for (const [name, value] of reversed) second.set(name, value);
  if (!reversed.has("flow.direction.name")) turn(second, "flow.direction.name", directions);
  turn(second, "flow.biflow.direction.id", biflowDirections);
  turn(second, "flow.biflow.direction.name", biflowDirectionNames);
  return second;
}

/** Exporters that see one direction only say zero of the other. */
function isEmptyFlow(reversed: RecordFields): boolean {
  const bytes = reversed.get("flow.bytes");
  const packets = reversed.get("flow.packets");
  return (bytes === 0 || packets === 0) && (bytes ?? 0) === 0 && (packets ?? 0) === 0;
}

const directions = new Map<Value, Value>([
  ["ingress", "egress"],
  ["egress", "ingress"],
]);
/** Who of source and destination began it (RFC 5103 section 6.3). */
const biflowDirections = new Map<Value, Value>([
  [1, 2],
  [2, 1],
]);
const biflowDirectionNames = new Map<Value, Value>([...biflowDirections].map(([a, b]) => [nameOf(a), nameOf(b)]));

function nameOf(direction: Value): Value {
  return enumerations.biflowDirection.get(Number(direction)) ?? "";
}

function turn(record: RecordFields, name: string, opposites: ReadonlyMap<Value, Value>): void {
  const value = record.get(name);
  const opposite = value === undefined ? undefined : opposites.get(value);
  if (opposite !== undefined) record.set(name, opposite);
}
