import { FlowSample } from "./answers/index.ts";
import type { Reader } from "./batch-rows.ts";

/** The composition of a key's traffic: values of some fields, each with its share of the bits, packets or flows. */
export type Top = Readonly<Record<string, readonly { readonly value: string; readonly share: number }[]>>;

/** The fields of evidence. */
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
/** The list is sorted again only after the total grew by this factor. All alerts ask for their evidence each second, and sorting costs more than counting. */
const moreShare = 1.05;
/** Maximum number of sampled rows, where rows are asked for. */
const maxSampled = 1000;

/** Counts the values of a key by field, each with its amount. */
export class CloseLook {
  readonly #tallies = evidenceFields.map(() => new Map<string, number>());
  /** Rows to choose a flow specification by; undefined where no rows are asked for. */
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

  /** Returns the largest values. It reuses the last result until the total has grown by a twentieth. */
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

/** Keeps only the larger half of the amounts. One large value among many small ones must stay visible, whenever it comes. */
function keepLargest(tally: Map<string, number>): void {
  const values = [...tally].sort(([, a], [, b]) => b - a);
  for (const [value] of values.slice(maxValues / 2)) tally.delete(value);
}
