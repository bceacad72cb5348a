import type { CounterNames } from "../../../src/flow/elements/mapping/counter-names.ts";
import { seenAt, trafficKey } from "../../../src/flow/index.ts";
import * as layout from "../../../src/flow/kernel/layout.ts";
import type { RecordFields, Value, Workspace } from "../../../src/record/index.ts";

const numberUnit = 2n ** BigInt(layout.trafficKeyShift);
const two32 = 2 ** 32;

/** Adds what a flow says passed interfaces to the table that the kernel has: in the first cell that is free. */
export function createTrafficModel({ view }: Pick<Workspace, "view">, counters: CounterNames) {
  const addDouble = (at: number, value: number): void => view.setFloat64(at, view.getFloat64(at, true) + value, true);
  const add = (index: Value | undefined, way: "in" | "out", said: unknown, values: readonly number[]): void => {
    if (typeof index !== "number" || index <= 0 || index >= two32) return;
    const seen = said === "ingress" ? seenAt.ingress : said === "egress" ? seenAt.egress : seenAt.unknown;
    const number = BigInt(view.getUint32(layout.trafficExporter, true));
    const key = number * numberUnit + BigInt(trafficKey({ index, way, seen }));
    for (let cell = 0; cell < layout.trafficCells; cell++) {
      const at = layout.trafficTable + layout.trafficCell * cell;
      const found = view.getBigUint64(at, true);
      if (found !== 0n && found !== key) continue;
      view.setBigUint64(at, key, true);
      values.forEach((value, i) => addDouble(at + layout.trafficBytes + 8 * i, value));
      return;
    }
    view.setUint32(layout.trafficLost, view.getUint32(layout.trafficLost, true) + 1, true);
  };
  return (record: RecordFields): void => {
    if (view.getUint32(layout.trafficExporter, true) === 0) return;
    const [input, output] = [record.get("flow.in.netif.index"), record.get("flow.out.netif.index")];
    const said = record.get("flow.direction.name");
    const known = record.get("flow.sample_rate");
    const rate = typeof known === "number" ? known : 1;
    const of = (name: { readonly exported: string }): number => numberOf(record.get(name.exported));
    const addBoth = (from: typeof input, to: typeof input, octets: number, packets: number): void => {
      if (octets <= 0) return;
      const values = [octets * rate, octets, Math.max(0, packets) * rate];
      add(from, "in", said, values);
      add(to, "out", said, values);
    };
    addBoth(input, output, of(counters.bytes), of(counters.packets));
    addBoth(output, input, of(counters.reverseBytes), of(counters.reversePackets));
  };
}

function numberOf(value: Value | undefined): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}
