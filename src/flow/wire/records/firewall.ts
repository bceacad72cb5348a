import type { FirewallFlows } from "../../exporters/firewall-flows.ts";
import type { FirewallPlan, PlacedField } from "../../exporters/firewall-flows.ts";
import type { Plan } from "../../exporters/plan.ts";
import type { ByteRange } from "./decoder.ts";

/** The events of a firewall about a flow (IANA, "firewallEvent"). */
const events = { created: 1, deleted: 2, updated: 5 } as const;

/** Records that follow one another, and the plan that reads them. */
export interface PlannedRange extends ByteRange {
  readonly plan: Plan;
}

/**
 * Cuts a set of a firewall's records where one counts a flow from its beginning that was reported before: such a record gets the rest as
 * its counts, and the totals behind it. Counts then add up to what passed. These records come last and together: to change the plan for each would
 * cost more than to read it.
 */
export function firewallRuns(
  plan: Plan,
  firewall: FirewallPlan,
  flows: FirewallFlows,
  { bytes, start, end }: ByteRange,
): readonly PlannedRange[] {
  const { minLength } = plan;
  const others: Buffer[] = [];
  const ends: Buffer[] = [];
  let from = start;
  for (let at = start; end - at >= minLength; at += minLength) {
    const rest = takeRecord(firewall, flows, bytes, at);
    if (rest === undefined) continue;
    others.push(bytes.subarray(from, at));
    ends.push(withRest(firewall, bytes.subarray(at, at + minLength), rest));
    from = at + minLength;
  }
  if (ends.length === 0) return [{ plan, bytes, start, end }];
  others.push(bytes.subarray(from, end));
  return [runOf(plan, others), runOf(firewall.totals, ends)];
}

function runOf(plan: Plan, records: readonly Buffer[]): PlannedRange {
  const bytes = Buffer.concat(records);
  return { plan, bytes, start: 0, end: bytes.length };
}

/** @returns what of each counter was not reported before; undefined where the record stays as it is. */
function takeRecord(
  { event, key, counters }: FirewallPlan,
  flows: FirewallFlows,
  bytes: Buffer,
  at: number,
): readonly number[] | undefined {
  const code = bytes[at + event.at];
  if (code !== events.created && code !== events.deleted && code !== events.updated) return undefined;
  const id = key.map((field) => bytes.toString("latin1", at + field.at, at + field.at + field.length)).join("");
  if (code !== events.updated) {
    const reported = flows.take(id);
    return code === events.deleted && reported !== undefined ? restOf(counters, bytes, at, reported) : undefined;
  }
  flows.add(
    id,
    counters.map((field) => readCounter(bytes, at, field)),
  );
  return undefined;
}

/** @returns undefined where the totals are less than what was reported: that was of another flow. */
function restOf(
  counters: readonly PlacedField[],
  bytes: Buffer,
  at: number,
  reported: ArrayLike<number>,
): readonly number[] | undefined {
  const rest = counters.map((field, i) => {
    const said = reported[i] as number;
    const range = 2 ** (8 * field.length);
    const left = readCounter(bytes, at, field) - said;
    // A counter that is too narrow has begun again.
    return left < 0 && said >= range ? ((left % range) + range) % range : left;
  });
  return rest.every((left) => left >= 0) ? rest : undefined;
}

/** Exact below 2^53: more passes no firewall in one flow. */
function readCounter(bytes: Buffer, at: number, field: PlacedField): number {
  let value = 0;
  for (let i = 0; i < field.length; i++) value = value * 256 + (bytes[at + field.at + i] as number);
  return value;
}

function withRest({ counters }: FirewallPlan, record: Buffer, rest: readonly number[]): Buffer {
  const totals = counters.map(({ at, length }) => {
    const total = Buffer.alloc(8);
    record.copy(total, 8 - length, at, at + length);
    return total;
  });
  const made = Buffer.concat([record, ...totals]);
  counters.forEach(({ at, length }, i) => {
    let left = BigInt(rest[i] as number);
    for (let place = at + length - 1; place >= at; place--, left >>= 8n) made[place] = Number(left & 0xffn);
  });
  return made;
}
