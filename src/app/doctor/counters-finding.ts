import { seenAt, trafficKey, trafficMinuteMs, type SeenAt, type ExporterView } from "../../flow/index.ts";
import type { DeviceCounters } from "../../snmp/index.ts";
import type { MeasuredExporter, Facts } from "./facts.ts";
import { number, type Diagnosis, exporterText, bytesText, clockTime, percent, time } from "./diagnosis.ts";

/** One direction of an interface over a window: the sums of flows, and the device's count. */
interface Comparison {
  readonly index: number;
  readonly name: string | undefined;
  readonly way: "in" | "out";
  /** The window, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** The sums of the flows. */
  readonly flows: FlowSums;
  /** Bytes of those flows that were seen on ingress and on egress. */
  readonly ingressBytes: number;
  readonly egressBytes: number;
  /** True if all records have the direction in which they were seen. */
  readonly isDirectionKnown: boolean;
  /** The count of SNMP, bytes of frames. */
  readonly counted: number;
  /** The same for the first and the second part of the window. */
  readonly parts: readonly { readonly flows: FlowSums; readonly counted: number }[];
}

interface FlowSums {
  /** Multiplied by the sampling rate. */
  readonly bytes: number;
  readonly packets: number;
  /** The values in the records, not multiplied. */
  readonly rawBytes: number;
}

/** The shortest window; a shorter one says little, because flows arrive when they end or after the active timeout. */
const leastWindowMs = 5 * 60_000;
const mostWindowMs = 20 * 60_000;
/** The shortest part of a window. */
const leastPartMs = 2 * 60_000;

type Reading = DeviceCounters["interfaces"][number]["readings"][number];
type Rows = ReadonlyMap<number, readonly [bytes: number, rawBytes: number, packets: number]>;

/**
 * Compares flows with counters, by interface, over the same time. It leaves out interfaces whose flows are not exported, and those with
 * fewer than three readings over five minutes. Ingress counts if the records say that flows were seen on ingress there, or give no direction;
 * egress counts only if they say so.
 *
 * @param now milliseconds since the epoch.
 */
function compareCounters({ traffic, counters }: MeasuredExporter, now: number): Comparison[] {
  const minutes = traffic.minutes.map(({ start, isPartial, rows }) => ({ start, isPartial, rows: readRows(rows) }));
  const lastEnd = now - (now % trafficMinuteMs);

  /** Adds up the flows of one key between two times; minutes at the edges count in part. */
  const sums = (key: number, from: number, to: number): FlowSums => {
    const total = { bytes: 0, rawBytes: 0, packets: 0 };
    for (const { start, rows } of minutes) {
      const share = (Math.min(to, start + trafficMinuteMs) - Math.max(from, start)) / trafficMinuteMs;
      const row = rows.get(key);
      if (share <= 0 || row === undefined) continue;
      total.bytes += share * row[0];
      total.rawBytes += share * row[1];
      total.packets += share * row[2];
    }
    return total;
  };

  const compareWay = (
    { index, name, readings }: DeviceCounters["interfaces"][number],
    way: "in" | "out",
  ): Comparison[] => {
    const counts = readings.flatMap((reading) => {
      const value = reading[way];
      return value === undefined || reading.at < traffic.since || reading.at > lastEnd
        ? []
        : [{ at: reading.at, value }];
    });
    const window = chooseWindow(counts);
    if (window === undefined) return [];
    const { first, middle, last } = window;
    const isCut = minutes.some(
      ({ start, isPartial }) => isPartial && start < last.at && start + trafficMinuteMs > first.at,
    );
    if (isCut) return [];
    const of = (seen: SeenAt, from = first.at, to = last.at): FlowSums => sums(trafficKey(index, way, seen), from, to);
    const [unknown, ingress, egress] = [of(seenAt.unknown), of(seenAt.ingress), of(seenAt.egress)];
    const isExported = way === "in" ? unknown.bytes + ingress.bytes > 0 : egress.bytes > 0;
    if (!isExported) return [];
    const whole = (from: number, to: number): FlowSums =>
      addSums([of(seenAt.unknown, from, to), of(seenAt.ingress, from, to), of(seenAt.egress, from, to)]);
    return [
      {
        index,
        name,
        way,
        from: first.at,
        to: last.at,
        flows: addSums([unknown, ingress, egress]),
        ingressBytes: ingress.bytes,
        egressBytes: egress.bytes,
        isDirectionKnown: unknown.bytes === 0,
        counted: last.value - first.value,
        parts: [
          { flows: whole(first.at, middle.at), counted: middle.value - first.value },
          { flows: whole(middle.at, last.at), counted: last.value - middle.value },
        ],
      },
    ];
  };

  return counters.interfaces.flatMap((of) => [...compareWay(of, "in"), ...compareWay(of, "out")]);
}

type Count = { readonly at: Reading["at"]; readonly value: number };

/** Returns the longest window up to the last reading within the limit, and the reading nearest to its middle; undefined when it is too short. */
function chooseWindow(
  counts: readonly Count[],
): { readonly first: Count; readonly middle: Count; readonly last: Count } | undefined {
  const last = counts.at(-1);
  const first = counts.find(({ at }) => last !== undefined && at >= last.at - mostWindowMs);
  if (first === undefined || last === undefined || last.at - first.at < leastWindowMs) return undefined;
  const centre = (first.at + last.at) / 2;
  const [middle] = counts
    .filter(({ at }) => at >= first.at + leastPartMs && at <= last.at - leastPartMs)
    .toSorted((a, b) => Math.abs(a.at - centre) - Math.abs(b.at - centre));
  return middle && { first, middle, last };
}

function readRows(rows: Float64Array): Rows {
  const byKey = new Map<number, readonly [number, number, number]>();
  for (let at = 0; at < rows.length; at += 4) {
    const [key = 0, bytes = 0, rawBytes = 0, packets = 0] = rows.subarray(at, at + 4);
    byKey.set(key, [bytes, rawBytes, packets]);
  }
  return byKey;
}

function addSums(sums: readonly FlowSums[]): FlowSums {
  const total = { bytes: 0, rawBytes: 0, packets: 0 };
  for (const { bytes, rawBytes, packets } of sums) {
    total.bytes += bytes;
    total.rawBytes += rawBytes;
    total.packets += packets;
  }
  return total;
}

/** An explanation of a ratio of flows to counters. */
interface Explanation {
  readonly cause: "both-directions" | "bits" | "scaled-twice" | "counted-twice" | "sampling-rate" | "unknown";
  readonly sentence: string;
  readonly advice: string;
}

type Ratio = Pick<Comparison, "flows" | "counted" | "ingressBytes" | "egressBytes"> & { readonly share: number };

/** The distance within which a ratio counts as equal to a factor or another ratio. */
const near = 0.2;
/** The stricter distance for sampling rates, because nearly every number is close to some usual rate. */
const nearRate = 0.1;
/** The least usual rate apart from 1; below it, every number is close to some rate. */
const leastRate = 10;
const rateSetting = "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF";

/**
 * Finds the cause if all interfaces have the same known factor.
 *
 * @param off at least one, with the most traffic first; `share` is flows divided by counters.
 */
function explainRatio(off: readonly Ratio[]): Explanation {
  const share = sumOf(off, (one) => one.share * one.counted) / sumOf(off, ({ counted }) => counted);
  if (off.every(isTwofold)) return bothDirections;
  // Traffic forwarded between interfaces has one factor.
  if (!off.every((one) => isNear(one.share, share, near))) return share > 1 ? tooMany : tooFew;
  const raw = sumOf(off, ({ flows }) => flows.rawBytes);
  const rate = raw > 0 ? sumOf(off, ({ flows }) => flows.bytes) / raw : 1;
  if (rate > 1 + near && isNear(share, rate, near)) return scaledTwice(rate);
  if (isNear(share, 2, near)) return countedTwice;
  if (isNear(share, 8, near)) return bits;
  const inForce = usualRate(rate / share);
  if (inForce !== undefined) return otherRate(rate, inForce);
  return share > 1 ? tooMany : tooFew;
}

const bothDirections: Explanation = {
  cause: "both-directions",
  sentence:
    "What was seen on the way in and what was seen on the way out each account for all of it: both are exported.",
  advice:
    "Bind the flow monitor in one direction: ingress on all interfaces sees every flow once (Cisco: `ip flow monitor … input`). " +
    "Or add up one direction only (`flow.direction.name`).",
};

const countedTwice: Explanation = {
  cause: "counted-twice",
  sentence: "That is twice as much: each packet is reported on the way in and on the way out, or by two monitors.",
  advice:
    "Export or sample in one direction only, ingress on all interfaces, and by one monitor and exporter. " +
    "An sFlow agent that samples both ways needs twice the rate.",
};

const bits: Explanation = {
  cause: "bits",
  sentence: "That is eight times as much: the records seem to have bits where bytes belong.",
  advice: "Look for an update of the exporter, or for a setting of the unit of its counters.",
};

const scaledTwice = (rate: number): Explanation => ({
  cause: "scaled-twice",
  sentence: `That is the sampling rate of ${rateText(rate)}: the exporter seems to have multiplied its counters already.`,
  advice: `Set ${rateSetting}=<exporter>=1: then its counters stay as they are.`,
});

function otherRate(rate: number, inForce: number): Explanation {
  const isKnown = rate > 1 + near;
  return {
    cause: "sampling-rate",
    sentence:
      `That is how it would be if one packet in ${number(inForce)} was looked at, ` +
      (isKnown ? `where the records were multiplied by ${rateText(rate)}.` : "and nothing says so."),
    advice: `Compare with the rate on the device. If it is ${inForce}, have it announced, or set ${rateSetting}=<exporter>=${inForce}.`,
  };
}

const tooFew: Explanation = {
  cause: "unknown",
  sentence:
    "Flows are missing: not all that passes the interface is looked at, they are lost on the way, or they come long after their traffic.",
  advice:
    "Check that the flow monitor sees all protocols (IPv6, MPLS; switched traffic where the device also switches), that no gaps are reported, " +
    "and that the active timeout is a minute or two.",
};

const tooMany: Explanation = {
  cause: "unknown",
  sentence: "Flows are counted more than once, or multiplied by too high a sampling rate.",
  advice:
    "Check the sampling rate on the device, and whether several monitors or directions report the same packets (tunnels, VLAN interfaces).",
};

/** Reports whether the ingress bytes and the egress bytes are each about the counted bytes. */
function isTwofold({ flows, ingressBytes, egressBytes, share }: Ratio): boolean {
  return isNear(share, 2, near) && [ingressBytes, egressBytes].every((part) => isNear(part, flows.bytes / 2, near));
}

function isNear(value: number, wanted: number, tolerance: number): boolean {
  return value >= wanted * (1 - tolerance) && value <= wanted * (1 + tolerance);
}

/** Returns a usual rate that is near to this one. */
function usualRate(rate: number): number | undefined {
  if (rate < leastRate * (1 - nearRate)) return isNear(rate, 1, nearRate) ? 1 : undefined;
  const decade = 10 ** Math.floor(Math.log10(rate));
  const usual = [decade, 2 * decade, 5 * decade, 10 * decade, 2 ** Math.round(Math.log2(rate))];
  return usual
    .filter((one) => isNear(rate, one, nearRate))
    .toSorted((a, b) => Math.abs(a - rate) - Math.abs(b - rate))[0];
}

function rateText(rate: number): string {
  return number(Math.round(rate * 100) / 100);
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** The least traffic, and the least samples, for a judgement; sampling only guesses at less. */
const leastBytes = 10e6;
const leastSamples = 400;
/** The assumed bytes of a packet. */
const usualPacket = 800;
/** The overhead of an Ethernet frame over its IP packet, bytes. */
const frameBytes = 18;
/** The share from which, up to its inverse, flows agree with counters. */
const leastShare = 0.7;
/** The share below which traffic is missing, whatever else the interface forwards. */
const muchMissing = 0.5;
/** The number of interfaces in the evidence, those with the most traffic. */
const shown = 8;

/** A comparison whose sides differ too much. */
interface Disagreement extends Comparison {
  /** Flow bytes divided by counted bytes. */
  readonly share: number;
}

/** Finds flow bytes that contradict the SNMP counters of the same interfaces over the same time. */
export function countersDisagree(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const { measured, now } = facts;
  const own = measured.filter(({ traffic }) => traffic.address === exporter.address);
  // If it is decoded in two places, directly and through a relay, neither has all flows.
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
        `${nameOf(worst)} from ${clockTime(worst.from)} to ${clockTime(worst.to)} UTC (${bytesText(worst.share * worst.counted)} of ${bytesText(worst.counted)}).` +
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

/** @param off the number of other interface directions compared that disagree. */
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

/** Reports whether there was enough traffic for a judgement, including the samples that should have been taken. */
function isEnough({ counted, flows }: Comparison): boolean {
  return counted >= leastBytes && counted / (rateOf(flows) * usualPacket) >= leastSamples;
}

/** Returns the sampling rate by which bytes were multiplied. */
function rateOf({ bytes: estimated, rawBytes }: FlowSums): number {
  return rawBytes > 0 ? estimated / rawBytes : 1;
}

/** Reports whether both parts of the window disagree in the same way, whether bytes are those of IP packets or of frames. */
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

/** @param isFrame true if the bytes are those of frames. */
function shareOf({ bytes: estimated, packets }: FlowSums, counted: number, isFrame: boolean): number {
  return (isFrame ? estimated : estimated + frameBytes * packets) / counted;
}
