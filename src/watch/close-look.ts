import { FlowSample } from "./answers/index.ts";
import type { Reader } from "./batch-rows.ts";

/** Parts of what a key is made of: values of a field, with their bits or packets or flows. */
export type Top = Readonly<Record<string, readonly { readonly value: string; readonly share: number }[]>>;

/** The fields that evidence is made of. */
export const evidenceFields: readonly string[] = [
  "flow.src.ip.addr",
  "flow.dst.ip.addr",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
  "l4.proto.name",
  "flow.src.as.label",
  "flow.dst.as.label",
  "flow.export.ip.addr",
];

const maxValues = 500;
const topValues = 10;
/** All alerts are asked for theirs each second, and to sort the values takes longer than to count them. */
const moreShare = 1.05;
/** Rows that are kept where they are asked for. */
const maxSampled = 1000;

/** The values of a key by field, each with its amount. */
export class CloseLook {
  readonly #tallies = evidenceFields.map(() => new Map<string, number>());
  /** Rows to choose a flow specification by; undefined where none is asked for. */
  readonly sample: FlowSample | undefined;
  readonly since: number;
  #total = 0;
  #top: { readonly total: number; readonly values: Top } | undefined;
  usedAt: number;

  constructor(now: number, keepsRows: boolean) {
    this.since = now;
    this.usedAt = now;
    this.sample = keepsRows ? new FlowSample(maxSampled, Math.random) : undefined;
  }

  add(readers: readonly Reader[], row: number, amount: number): void {
    this.#total += amount;
    for (const [i, tally] of this.#tallies.entries()) {
      const text = readers[i]?.text(row);
      if (text === undefined) continue;
      tally.set(text, (tally.get(text) ?? 0) + amount);
      if (tally.size > maxValues) keepLargest(tally);
    }
  }

  /** The largest values; those of a moment ago as long as not a twentieth more has come. */
  top(): Top {
    if (this.#top === undefined || this.#total > moreShare * this.#top.total)
      this.#top = { total: this.#total, values: this.#largest() };
    return this.#top.values;
  }

  #largest(): Top {
    const fields = this.#tallies.map((tally, i) => {
      const values = [...tally]
        .sort(([, a], [, b]) => b - a)
        .slice(0, topValues)
        .map(([value, amount]) => ({ value, share: Math.round((1000 * amount) / this.#total) / 1000 }));
      return [evidenceFields[i] ?? "", values] as const;
    });
    return Object.fromEntries(fields.filter(([, values]) => values.length > 0));
  }
}

/** Leaves the larger half of the amounts: one large value among many small ones is to be seen whenever it comes. */
function keepLargest(tally: Map<string, number>): void {
  const values = [...tally].sort(([, a], [, b]) => b - a);
  for (const [value] of values.slice(maxValues / 2)) tally.delete(value);
}
