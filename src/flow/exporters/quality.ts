import type { SenderStanding } from "../intake/ring/ring-layout.ts";
import type { Exporter } from "./exporter.ts";

/** An exporter is proven this long after its first datagram. */
export const provenAfterMs = 60_000;
/** Of the quality, this part is that of the latest datagram. */
const latestPart = 1 / 16;
const isGoodFrom = 1 / 2;

/** Takes what became of a datagram, or of several at once: records and no fault are good. */
export function noteQuality(exporter: Exporter, isGood: boolean): void {
  exporter.quality += (Number(isGood) - exporter.quality) * latestPart;
}

/** How an exporter stands where not all have room: before others if most of its latest datagrams are good. */
export function standingOf({ firstSeen, quality }: Exporter, now: number): SenderStanding {
  if (quality < isGoodFrom) return "unknown";
  return now - firstSeen >= provenAfterMs ? "proven" : "good";
}
