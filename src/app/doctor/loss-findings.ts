import type { ExporterView } from "../../flow/index.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { groupBy } from "./group-by.ts";
import { count, list, number, percent, time } from "./wording.ts";

const smallShare = 0.001;
/** Domains that the evidence shows, those with the greatest gaps. */
const shownDomains = 5;

/** What the sequence numbers of each protocol count. */
const units: Readonly<Record<string, string>> = {
  netflow5: "flow",
  netflow7: "flow",
  netflow9: "datagram",
  ipfix: "record",
  sflow: "datagram",
};

/** Sequence numbers that never came, and where they were lost. */
export function gaps({ address, domains }: ExporterView, facts: Facts): Diagnosis[] {
  const byUnit = groupBy(
    domains.filter(({ missing }) => missing > 0),
    ({ protocol }) => units[protocol] ?? "unit",
  );
  return [...byUnit].map(([unit, of]) => {
    const missing = sum(of, (domain) => domain.missing);
    const received = sum(of, (domain) => domain.received);
    const share = missing / (missing + received);
    const kernel = sum(facts.ports, ({ drops }) => drops ?? 0);
    const { queueDrops } = facts.counts;
    const seesKernel = facts.ports.some(({ drops }) => drops !== undefined);
    const [where, advice] = whereLost(kernel, queueDrops, seesKernel);
    const lastAt = Math.max(...of.map(({ missingAt }) => missingAt ?? 0));
    return {
      id: "gaps",
      severity: share < smallShare ? "note" : "warning",
      exporter: address,
      sentence: `${count(missing, unit)} of ${exporterText(address, facts)} never came (${percent(share)}), by sequence numbers. ${where}`,
      evidence: {
        unit,
        missing,
        received,
        ...(lastAt > 0 && { lastGap: time(lastAt) }),
        kernelDrops: seesKernel ? kernel : "unknown",
        queueDrops,
        domains: of
          .toSorted((a, b) => b.missing - a.missing)
          .slice(0, shownDomains)
          .map(({ protocol, id, port, missing: gap, late, resets }) => ({
            protocol,
            id,
            port,
            missing: gap,
            late,
            resets,
          })),
      },
      advice,
    };
  });
}

function whereLost(kernel: number, queues: number, seesKernel: boolean): readonly [where: string, advice: string] {
  const here = [
    ...(kernel > 0 ? [`the kernel dropped ${count(kernel, "datagram")} at the flow ports`] : []),
    ...(queues > 0 ? [`the queues of the decoding threads ${number(queues)}`] : []),
  ];
  if (here.length > 0) {
    return [
      `Of all exporters ${list(here)}: some were lost on this host.`,
      "See kernel-drops and queue-drops. When these stand still and gaps grow, datagrams are lost on the way or at the exporter.",
    ];
  }
  return [
    seesKernel
      ? "This host dropped none: they were lost on the way, or the exporter did not send them."
      : "The decoding queues dropped none; what the kernel dropped is not known on this system.",
    "Look for drops at the exporter (Cisco: `show flow exporter statistics`) and on the links between; UDP is dropped first where a link is full.",
  ];
}

/** Samples that an sFlow agent took and could not send. */
export function agentDrops({ address, domains, records }: ExporterView, facts: Facts): Diagnosis[] {
  const dropping = domains.filter(({ samplerDrops }) => samplerDrops > 0);
  const drops = sum(dropping, ({ samplerDrops }) => samplerDrops);
  if (drops === 0) return [];
  const share = drops / (drops + records);
  return [
    {
      id: "agent-drops",
      severity: share < smallShare ? "note" : "warning",
      exporter: address,
      sentence: `sFlow agents at ${exporterText(address, facts)} say that they dropped ${count(drops, "sample")} (${percent(share)}) for want of resources: traffic is underestimated.`,
      evidence: {
        drops,
        records,
        agents: dropping.map(({ agent, id, samplerDrops }) => ({ agent, subAgent: id, drops: samplerDrops })),
      },
      advice: "Sample more coarsely: a rate of one in twice as many packets.",
    },
  ];
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
