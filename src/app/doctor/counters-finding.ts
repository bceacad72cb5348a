import type { ExporterView } from "../../flow/index.ts";
import { compareCounters, type Comparison, type FlowSums } from "./compare-counters.ts";
import { explainRatio, type Explanation } from "./explain-ratio.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { bytes, clockTime, percent, time } from "./wording.ts";

/** Less traffic than this is left out, and so is what sampling can only guess at. */
const leastBytes = 10e6;
const leastSamples = 400;
/** Bytes of a packet, where one has to be assumed. */
const usualPacket = 800;
/** What a frame of Ethernet has in addition to its IP packet. */
const frameBytes = 18;
/** Flows from this share on, up to its inverse, agree with counters. */
const leastShare = 0.7;
/** Below it traffic is missing, whatever else the interface passes on. */
const muchMissing = 0.5;
/** Interfaces that the evidence shows, those with the most traffic. */
const shown = 8;

/** A comparison whose sides are too far from each other. */
interface Disagreement extends Comparison {
  /** Flows by counted bytes. */
  readonly share: number;
}

/** Bytes of flows that contradict what SNMP counted at the same interfaces over the same time. */
export function countersDisagree(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const { measured, now } = facts;
  const own = measured.filter(({ traffic }) => traffic.address === exporter.address);
  // Decoded in two places, as it sends itself and by a relay: neither has all.
  const [only] = own.length === 1 ? own : [];
  if (only === undefined) return [];
  const isFrame = exporter.domains.some(({ protocol }) => protocol === "sflow");
  const compared = compareCounters(only, now).filter(isEnough);
  const off = compared
    .filter(disagrees)
    .map((one) => withShare(one, isFrame))
    .toSorted((a, b) => b.counted - a.counted);
  const [worst] = off;
  if (worst === undefined) return [];
  const explanation = explainRatio(off);
  return [
    {
      id: "counters-disagree",
      severity: severityOf(worst, explanation),
      exporter: exporter.address,
      sentence:
        `Flows of ${exporterText(exporter.address, facts)} account for ${times(worst.share)} what SNMP counted ${worst.way === "in" ? "into" : "out of"} ` +
        `${nameOf(worst)} from ${clockTime(worst.from)} to ${clockTime(worst.to)} UTC (${bytes(worst.share * worst.counted)} of ${bytes(worst.counted)}).` +
        `${othersText(off.length - 1, compared.length - 1)} ${explanation.sentence}`,
      evidence: {
        device: only.counters.device,
        cause: explanation.cause,
        compared: compared.length,
        interfaces: off.slice(0, shown).map(evidenceOf),
      },
      advice: explanation.advice.replaceAll("<exporter>", exporter.address),
    },
  ];
}

function times(share: number): string {
  return share < 2.5 ? `${percent(share)} of` : `${Number(share.toPrecision(2))} times`;
}

/** @param off of the other interfaces that were compared, each way for itself. */
function othersText(off: number, others: number): string {
  if (off === 0) return others === 0 ? "" : ` The other counters that were compared (${others}) agree.`;
  return off === others
    ? ` So it is with the other counters that were compared (${others}).`
    : ` Of the other counters that were compared (${others}) ${off} disagree, too.`;
}

function severityOf({ share, isDirectionKnown }: Disagreement, { cause }: Explanation): Diagnosis["severity"] {
  if (cause !== "unknown") return "warning";
  return share > 1 || (share < muchMissing && isDirectionKnown) ? "warning" : "note";
}

function evidenceOf(one: Disagreement): Readonly<Record<string, unknown>> {
  const { index, name, way, from, to, flows, ingressBytes, egressBytes, counted, share } = one;
  return {
    index,
    ...(name !== undefined && { name }),
    way,
    from: time(from),
    to: time(to),
    share: Number(share.toPrecision(3)),
    flowBytes: Math.round(flows.bytes),
    exportedBytes: Math.round(flows.rawBytes),
    packets: Math.round(flows.packets),
    ...(ingressBytes > 0 && { ingressBytes: Math.round(ingressBytes) }),
    ...(egressBytes > 0 && { egressBytes: Math.round(egressBytes) }),
    countedBytes: Math.round(counted),
  };
}

function nameOf({ index, name }: Comparison): string {
  return name ?? `interface ${index}`;
}

/** Whether there was traffic enough for a judgement: also for the samples that ought to have been taken of it. */
function isEnough({ counted, flows }: Comparison): boolean {
  return counted >= leastBytes && counted / (rateOf(flows) * usualPacket) >= leastSamples;
}

/** The sampling rate by which bytes were multiplied. */
function rateOf({ bytes: estimated, rawBytes }: FlowSums): number {
  return rawBytes > 0 ? estimated / rawBytes : 1;
}

/** Whether both parts of the window are off, in the same way, be the bytes those of IP packets or of frames. */
function disagrees({ flows, counted, parts }: Comparison): boolean {
  const all = [{ flows, counted }, ...parts];
  return (
    all.every((part) => shareOf(part.flows, part.counted, false) < leastShare) ||
    all.every((part) => shareOf(part.flows, part.counted, true) > 1 / leastShare)
  );
}

function withShare(one: Comparison, isFrame: boolean): Disagreement {
  return { ...one, share: shareOf(one.flows, one.counted, isFrame) };
}

/** @param isFrame whether the bytes are those of frames. */
function shareOf({ bytes: estimated, packets }: FlowSums, counted: number, isFrame: boolean): number {
  return (isFrame ? estimated : estimated + frameBytes * packets) / counted;
}
