import type { RecordFields, Value } from "../../../src/record/index.ts";
import { forwardName, swapSides } from "../../../src/flow/line/biflow.ts";
import { commonNames } from "../../../src/flow/line/biflow.ts";
import { enumerations } from "../../../src/flow/elements/registry/enumerations.gen.ts";

const reversePrefix = "flow.reverse.";

/**
 * Makes two records of one that has both directions of a biflow (RFC 5103), by names. The given one keeps the first direction.
 *
 * @param head names of the fields that every record has first.
 * @returns the record of the reverse direction; undefined where nothing is said of it, or only that it had no bytes and no packets.
 */
export function splitBiflow(record: RecordFields, head: ReadonlySet<string>): RecordFields | undefined {
  const reversed = new Map<string, Value>();
  for (const [name, value] of record) {
    if (!name.startsWith(reversePrefix)) continue;
    record.delete(name);
    reversed.set(forwardName(name.slice(reversePrefix.length)), value);
  }
  if (reversed.size === 0 || isEmptyFlow(reversed)) return undefined;
  const second: RecordFields = new Map([...record].filter(([name]) => head.has(name)));
  for (const [name, value] of reversed) second.set(name, value);
  for (const [name, value] of record) {
    if (head.has(name) || !commonNames.some((beginning) => name.startsWith(beginning))) continue;
    const swapped = swapSides(name);
    if (!reversed.has(swapped)) second.set(swapped, value);
  }
  if (!reversed.has("flow.direction.name")) turn(second, "flow.direction.name", directions);
  if (!reversed.has("flow.biflow.direction.id")) turn(second, "flow.biflow.direction.id", biflowDirections);
  if (!reversed.has("flow.biflow.direction.name")) turn(second, "flow.biflow.direction.name", biflowDirectionNames);
  return second;
}

/** Exporters that see one direction only say zero of the other. */
function isEmptyFlow(reversed: RecordFields): boolean {
  const bytes = reversed.get("flow.raw.bytes") ?? reversed.get("flow.bytes");
  const packets = reversed.get("flow.raw.packets") ?? reversed.get("flow.packets");
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
