import { andTerm, filterTerm } from "./filter-terms.ts";
import { formatNumber, type Unit } from "./numbers.ts";

/** What is needed of an alert to find what it is about. */
interface KeyedAlert {
  readonly key: Readonly<Record<string, string>>;
  readonly since: number;
  readonly firedAt?: number | undefined;
  readonly clearedAt?: number | undefined;
}

/** A page of these, and its state. */
interface View {
  readonly page: "explore" | "exporters" | "devices";
  readonly query: Readonly<Record<string, string>>;
}

/** What is shown of before an alert, and after it, milliseconds. */
const aroundMs = 600_000;

/** The view that shows what an alert is about: of flows those of its key from a while before it began. */
export function viewOfAlert({ key, since, firedAt, clearedAt }: KeyedAlert): View {
  const fields = Object.entries(key);
  if (fields.every(([field]) => /^(?:flow|l4|app|tcp|icmp)\./.test(field))) {
    const from = new Date((firedAt ?? since) - aroundMs).toISOString();
    const to = clearedAt === undefined ? undefined : new Date(clearedAt + aroundMs).toISOString();
    const filter = fields.reduce((terms, [field, value]) => andTerm(terms, termOf(field, value)), "");
    const by = "flow.src.ip.addr,flow.dst.ip.addr";
    return { page: "explore", query: { filter, from, ...(to !== undefined && { to }), by } };
  }
  const exporter = key["exporter"];
  return exporter === undefined ? { page: "devices", query: {} } : { page: "exporters", query: { exporter } };
}

/** A rule may watch networks, by `dst/24`: an address is one of theirs. */
const termOf = (field: string, value: string): string =>
  /^[\da-f.:]+\/\d{1,3}$/i.test(value) && field.endsWith(".ip.addr")
    ? `${field} in ${value}`
    : filterTerm(field, valueOf(value));

const valueOf = (text: string): string | number => (/^\d{1,15}$/.test(text) ? Number(text) : text);

/** The filter of a silence of what is like an alert: its rule and its key. A network is no value of a field, and is left out. */
export function silenceFilter({ rule, key }: { readonly rule: string; readonly key: KeyedAlert["key"] }): string {
  const named = Object.entries(key).filter(([, value]) => !value.includes("/"));
  return named.reduce(
    (terms, [field, value]) => andTerm(terms, filterTerm(field, valueOf(value))),
    `alert.rule.name = ${JSON.stringify(rule)}`,
  );
}

const units: Readonly<Record<string, Unit>> = {
  "bits/s": "bit/s",
  "packets/s": "packets/s",
  "flows/s": "flows/s",
  seconds: "seconds",
  records: "records",
  "%": "%",
};

/** The unit of an alert as charts have it; "" for those that they have not. */
export const unitOfAlert = (unit: string): Unit => units[unit] ?? "";

/** An amount in the unit of an alert. */
export function amountOf(value: number, unit: string): string {
  const known = units[unit];
  return known === undefined ? `${formatNumber(value)} ${unit}`.trimEnd() : formatNumber(value, known);
}

/** The times of a series whose last value is of `until`: seconds since the epoch. */
export function timesOf(
  series: { readonly stepMs: number; readonly values: readonly number[] },
  until: number,
): number[] {
  const last = series.values.length - 1;
  return series.values.map((_, index) => (until - (last - index) * series.stepMs) / 1000);
}
