import type { DiagnoseAnswer, ListExportersAnswer } from "../../api/answers.gen.ts";
import { formatShare } from "../../format/numbers.ts";

export type Exporter = ListExportersAnswer["exporters"][number];
export type Domain = Exporter["domains"][number];
export type Template = Domain["templates"][number];
export type Diagnosis = DiagnoseAnswer["diagnoses"][number];

const minute = 60_000;

/** Records a second over the last minute; of an exporter that is newer than that, since its first datagram. */
export function rateOf({ recordsPerSecond, records, firstSeen, lastSeen }: Exporter): number {
  if (recordsPerSecond > 0 || lastSeen - firstSeen > 2 * minute || lastSeen <= firstSeen) return recordsPerSecond;
  return (records * 1000) / (lastSeen - firstSeen);
}

/** Share of what was sent that never came, the worst of its domains; undefined while nothing is counted. */
export function lossOf({ domains }: Pick<Exporter, "domains">): number | undefined {
  const shares = domains.flatMap(({ received, missing }) =>
    received + missing > 0 ? [missing / (received + missing)] : [],
  );
  return shares.length === 0 ? undefined : Math.max(...shares);
}

/** A share as it is shown: nothing missing is `none`. */
export const lossText = (loss: number | undefined): string => (loss === 0 ? "none" : formatShare(loss));

/** Names of protocols as people write them. */
const protocols: Readonly<Record<string, string>> = {
  netflow1: "NetFlow v1",
  netflow5: "NetFlow v5",
  netflow7: "NetFlow v7",
  netflow9: "NetFlow v9",
  ipfix: "IPFIX",
  sflow5: "sFlow",
  sflow: "sFlow",
};

export const protocolName = (word: string): string => protocols[word] ?? word;

export function protocolsOf({ domains }: Pick<Exporter, "domains">): string {
  return [...new Set(domains.map(({ protocol }) => protocolName(protocol)))].join(", ");
}

/** `1 : 1000`, or several of them. */
export function samplingOf({ domains, manualRate, fallbackRate }: Exporter): string {
  if (manualRate !== undefined) return `1 : ${manualRate} (by your settings)`;
  const rates = [...new Set(domains.flatMap(({ sampling }) => sampling.map(({ rate }) => rate)))];
  if (rates.length > 3) return `${rates.length} rates`;
  if (rates.length > 0) return rates.map((rate) => (rate === 1 ? "none" : `1 : ${rate}`)).join(", ");
  // Where the rate is in each record nothing is kept of it.
  if (domains.some(({ templates }) => templates.some(({ sampling }) => sampling === "rate"))) return "by record";
  return fallbackRate === undefined ? "not said" : `1 : ${fallbackRate} (assumed)`;
}
