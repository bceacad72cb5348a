import type { DomainView, ExporterView } from "../../flow/index.ts";
import { type Diagnosis, exporterText, groupBy, list, time, count, number, percent, span } from "./diagnosis.ts";
import type { Facts } from "./facts.ts";
import { countersDisagree } from "./counters-finding.ts";
import { samplingFindings } from "./sampling-findings.ts";
import { inAndOut } from "./twice-findings.ts";

/** The silence after which a port belongs to an earlier start. */
const activeMs = 5 * 60_000;
/** The limit below which start times are of one device: its clock drifts, and headers have whole seconds. */
const sameStartMs = 60_000;
/** The modulus of uptimes, 2^32 milliseconds. */
const uptimeWrapMs = 2 ** 32;

interface ActiveSender {
  readonly domain: DomainView;
  readonly port: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly bootTime: number | undefined;
}

/**
 * Finds several devices that send from one address: NAT, or a relay. Two ports that send at the same time, within one observation domain, are
 * several exporting processes. If their start times differ, they are several devices.
 */
function severalDevices(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const { address, domains, lastSeen } = exporter;
  // Its records name their device.
  if (exporter.isRelay) return [];
  const namesExporter = domains.some(({ templates }) => templates.some((template) => template.namesExporter));
  const byDomain = groupBy(
    domains.flatMap((domain) => domain.senders.map((sender): ActiveSender => ({ domain, ...sender }))),
    ({ domain: { protocol, id, agent = "" } }) => `${protocol} ${id} ${agent}`,
  );
  const groups = [...byDomain.values()].flatMap((all) => {
    const senders = all.filter((sender) => lastSeen - sender.lastSeen <= activeMs && takesTurns(sender, all));
    return senders.length > 1 ? [senders] : [];
  });
  const [group] = groups.toSorted((a, b) => Number(startsDiffer(b)) - Number(startsDiffer(a)));
  const [first] = group ?? [];
  if (group === undefined || first === undefined) return [];
  const differ = startsDiffer(group);
  const ports = group.map(({ port }) => port);
  const { protocol, id } = first.domain;
  const ofPorts = new Set(group.map(({ domain }) => domain));
  const sum = (numberOf: (domain: DomainView) => number): number =>
    [...ofPorts].reduce((all, each) => all + numberOf(each), 0);
  const called = exporterText(address, facts);
  return [
    {
      id: "several-devices",
      severity: differ ? "warning" : "note",
      exporter: address,
      sentence: differ
        ? `Several devices send as ${called}, in the same domain ${id}: ports ${list(ports)} are in use at the same time, and their start times differ. ` +
          mixedUp(protocol)
        : `Several exporting processes send as ${called}, in the same domain ${id}: ports ${list(ports)} are in use at the same time.`,
      evidence: {
        protocol,
        domain: id,
        senders: group.map(({ port, bootTime, lastSeen: at }) => ({
          port,
          lastSeen: time(at),
          startedAt: bootTime === undefined ? undefined : time(bootTime),
        })),
        resets: sum(({ resets }) => resets),
        late: sum(({ late }) => late),
        namesExporter,
        domains: domains.length,
      },
      advice:
        "If there is NAT or a relay on the way, let flow exports pass it unchanged, so that each device is known by its own address. If not, give each device or process " +
        "a Source ID (observation domain) of its own." +
        (namesExporter
          ? ` Its records name the device in elements 130 or 131 (exporterIPv4Address, exporterIPv6Address): if ${called} is a relay of yours, list it in SVC_FLOW_DECODER_RELAYS.`
          : ""),
    },
  ];
}

/** Describes the data that get mixed up when nothing distinguishes two devices at one address. */
function mixedUp(protocol: DomainView["protocol"]): string {
  if (protocol === "sflow") return "Their sampling rates and sequence numbers get mixed up.";
  if (protocol === "ipfix") return "Their sampling rates and interface names get mixed up.";
  const own = protocol === "netflow9" ? "templates, options and sequence numbers" : "sequence numbers";
  return `Each port has its ${own}, but what SNMP, metadata and files know by the exporter's address is the same for all.`;
}

/** Reports whether a sender was active before and after another one: a device that restarted leaves its old port for good. */
function takesTurns(sender: ActiveSender, all: readonly ActiveSender[]): boolean {
  return all.some(
    (other) =>
      other.port !== sender.port &&
      // One process that changes its port has one domain, unless the protocol has one for all.
      (other.domain !== sender.domain || sender.domain.port === undefined) &&
      other.lastSeen >= sender.firstSeen &&
      sender.lastSeen >= other.firstSeen,
  );
}

function startsDiffer(senders: readonly ActiveSender[]): boolean {
  const starts = senders.flatMap(({ bootTime }) => bootTime ?? []);
  return starts.some((start) =>
    starts.some((other) => {
      const apart = Math.abs(start - other) % uptimeWrapMs;
      return Math.min(apart, uptimeWrapMs - apart) > sameStartMs;
    }),
  );
}

const smallShare = 0.001;
/** The number of domains in the evidence, those with the greatest gaps. */
const shownDomains = 5;

/** The unit of the sequence numbers of each protocol. */
const units: Readonly<Record<string, string>> = {
  netflow5: "flow",
  netflow7: "flow",
  netflow9: "datagram",
  ipfix: "record",
  sflow: "datagram",
};

/** Finds sequence numbers that never came, and where they were lost. */
function gaps({ address, domains }: ExporterView, facts: Facts): Diagnosis[] {
  const byUnit = groupBy(
    domains.filter(({ missing }) => missing > 0),
    ({ protocol }) => units[protocol] ?? "unit",
  );
  return [...byUnit].map(([unit, of]) => {
    const missing = sumOf(of, (domain) => domain.missing);
    const received = sumOf(of, (domain) => domain.received);
    const share = missing / (missing + received);
    const kernel = sumOf(facts.ports, ({ drops }) => drops ?? 0);
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

/** Finds samples that an sFlow agent took and could not send. */
function agentDrops({ address, domains, records }: ExporterView, facts: Facts): Diagnosis[] {
  const dropping = domains.filter(({ samplerDrops }) => samplerDrops > 0);
  const drops = sumOf(dropping, ({ samplerDrops }) => samplerDrops);
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

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/**
 * The offset from which a clock is reported: queues and short outages of NTP cause less. The offset corrects the times of its traffic,
 * so that is shown at its true time all the same.
 */
const toldMs = 2000;
/** The offset above which other readers of the records are misled. */
const toleratedMs = 2 * 60_000;
const quarterMs = 15 * 60_000;
/** The tolerance of a clock in the wrong time zone, milliseconds. */
const zoneExactMs = 90_000;
const maxZoneMs = 14 * 3_600_000 + zoneExactMs;
/** The time before which a clock counts as never set: such a clock shows a time soon after its epoch. */
const unsetBefore = Date.UTC(2005, 0, 1);

/** Finds exporters whose export time differs from the time of receipt. */
function clockOff({ address, domains, lastSeen }: ExporterView, facts: Facts): Diagnosis[] {
  const offsets = domains.flatMap(({ clockOffset }) => clockOffset ?? []);
  const [offset] = offsets.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (offset === undefined || Math.abs(offset) < toldMs) return [];
  const exportTime = lastSeen + offset;
  const isUnset = exportTime < unsetBefore;
  const off = Math.abs(offset);
  const fromQuarter = Math.abs(off - Math.round(off / quarterMs) * quarterMs);
  const isZone = !isUnset && off >= quarterMs - zoneExactMs && off <= maxZoneMs && fromQuarter <= zoneExactMs;
  const zone = Math.round(off / quarterMs) * quarterMs;
  const way = offset > 0 ? "ahead of" : "behind";
  const called = exporterText(address, facts);
  const sentence = isUnset
    ? `The clock of ${called} was never set: it says ${time(exportTime)}.`
    : isZone
      ? `The clock of ${called} is ${span(zone)} ${way} the collector's: it looks like local time in place of UTC.`
      : `The clock of ${called} is ${span(off)} ${way} the collector's.`;
  return [
    {
      id: "clock-off",
      severity: off < toleratedMs ? "note" : "warning",
      exporter: address,
      sentence,
      evidence: {
        offsetSeconds: Math.round(offset / 1000),
        exportTime: time(exportTime),
        receivedAt: time(lastSeen),
        timeZone: isZone,
      },
      advice:
        (isZone
          ? "Set the device's time zone, or its clock to UTC, "
          : "Have the device and this host set their clocks by NTP, ") +
        "and check which of the two is wrong. Until then start and end of its flows (flow.start.timestamp, flow.end.timestamp) are off by flow.export.clock.offset, by which Explore corrects them; @timestamp is right.",
    },
  ];
}

/** The silence that is unusual for an exporter with anything to send. */
const silentAfterMs = 10 * 60_000;
/** Time limits for templates, which repeat every few minutes; some exporters need half an hour. */
const templatePatienceMs = 60_000;
const noFlowsAfterMs = 5 * 60_000;

/** Finds the faults of one exporter. */
export function exporterFindings(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const quiet = silent(exporter, facts);
  // State of an earlier run says nothing about today, and data passed on by a relay are judged by its own datagrams.
  if (exporter.datagrams === 0) return [...quiet, ...countersDisagree(exporter, facts)];
  return [
    ...quiet,
    ...templateMissing(exporter, facts),
    ...noFlows(exporter, facts),
    ...samplingFindings(exporter, facts),
    ...gaps(exporter, facts),
    ...agentDrops(exporter, facts),
    ...severalDevices(exporter, facts),
    ...clockOff(exporter, facts),
    ...inAndOut(exporter, facts),
    ...countersDisagree(exporter, facts),
  ];
}

/** Diagnoses an address from which nothing came. */
export function neverHeard(address: string, facts: Facts): Diagnosis {
  const { exporters, startedAt, now, ports } = facts;
  const called = (one: string): string => exporterText(one, facts);
  const relays = exporters.filter(({ domains }) => domains.some(({ agent }) => agent === address));
  const [relay] = relays;
  const others = exporters.filter(({ datagrams }) => datagrams > 0);
  const heard =
    others.length === 0 ? "Nobody else was heard either." : `${count(others.length, "other exporter")} did send.`;
  return {
    id: "never-heard",
    severity: relay === undefined ? "problem" : "note",
    exporter: address,
    sentence:
      relay === undefined
        ? `No datagram has come from ${called(address)} in ${span(now - startedAt)}. ${heard}`
        : `No datagram has come from ${called(address)} itself, but ${called(relay.address)} passes on what it says.`,
    evidence: {
      since: time(startedAt),
      exportersHeard: others.length,
      addresses: others.slice(-8).map((other) => other.address),
      ...(relay !== undefined && { passedOnBy: relays.map((one) => one.address) }),
    },
    advice:
      relay === undefined
        ? `Check on the device that it exports to this host, port ${list(ports.map(({ port }) => port))}, and by which source address: exporters are known by the address ` +
          "that their datagrams come from, which may be another interface of the device, or that of a NAT gateway."
        : `Ask for ${called(relay.address)}: samples of relayed agents belong to the exporter that sends them.`,
  };
}

function silent({ address, relay, lastSeen, datagrams, recordsPerSecond }: ExporterView, facts: Facts): Diagnosis[] {
  const { now, startedAt } = facts;
  const quietMs = now - (datagrams > 0 ? lastSeen : Math.max(lastSeen, startedAt));
  if (quietMs < silentAfterMs) return [];
  const isEarlier = datagrams === 0 && relay === undefined;
  const called = exporterText(address, facts);
  return [
    {
      id: "silent",
      severity: "problem",
      exporter: address,
      sentence: isEarlier
        ? `${called} is known from an earlier run, but has sent nothing since the collector started ${span(now - startedAt)} ago.`
        : relay === undefined || datagrams > 0
          ? `${called} has sent nothing for ${span(quietMs)}; before, ${count(datagrams, "datagram")} came.`
          : `The relay ${exporterText(relay, facts)} has passed on nothing of ${called} for ${span(quietMs)}.`,
      evidence: { lastSeen: time(lastSeen), datagrams, recordsPerSecond, startedAt: time(startedAt) },
      advice:
        "Check that the device is up, still exports to this host, and reaches it. If it was taken out of service, there is nothing to do: it is forgotten in time.",
    },
  ];
}

function templateMissing({ address, domains, records, firstSeen }: ExporterView, facts: Facts): Diagnosis[] {
  const { now } = facts;
  const waiting = domains.filter(
    ({ waitingSets, waitingSince }) => waitingSets > 0 && now - (waitingSince ?? now) >= templatePatienceMs,
  );
  return waiting.map((domain) => {
    const { protocol, id, port, waitingFor, waitingSets, waitingSince = now, givenUpSets, templates } = domain;
    const givenUp = givenUpSets > 0 ? ` and ${number(givenUpSets)} were given up` : "";
    const many = waitingFor.length > 1;
    return {
      id: "template-missing",
      severity: records === 0 ? "problem" : "warning",
      exporter: address,
      sentence:
        `Template${many ? "s" : ""} ${list(waitingFor)} of ${exporterText(address, facts)}, ${domainName(domain)}, ${many ? "have" : "has"} not come: ` +
        `for ${span(now - waitingSince)} data sets have waited; ${number(waitingSets)} wait now${givenUp}.`,
      evidence: {
        protocol,
        domain: id,
        ...(port !== undefined && { port }),
        templates: waitingFor,
        waitingSets,
        givenUpSets,
        since: time(waitingSince),
        firstSeen: time(firstSeen),
        knownTemplates: templates.map((template) => template.id),
      },
      advice:
        (protocol === "netflow9"
          ? "Have the exporter send its templates and options templates again every minute or so (Cisco: `template data timeout 60`, `option … timeout 60`). "
          : "Have the exporter send its templates and options templates again every minute or so (templateRefreshTimeout). ") +
        "Templates of one domain must reach the collector by the same way as its data: a load balancer must not spread one exporter over several collectors. " +
        "SVC_STATE_DIRECTORY_PATH keeps templates over a restart of the collector.",
    };
  });
}

function noFlows(
  { address, isRelay, datagrams, records, domains, firstSeen, lastSeen }: ExporterView,
  facts: Facts,
): Diagnosis[] {
  // Its flows are those of the exporters behind it.
  if (isRelay && facts.exporters.some((other) => other.relay === address && other.records > 0)) return [];
  const hasWaiting = domains.some(({ waitingSets }) => waitingSets > 0);
  if (records > 0 || hasWaiting || lastSeen - Math.max(firstSeen, facts.startedAt) < noFlowsAfterMs) return [];
  const isSflow = domains.some(({ protocol }) => protocol === "sflow");
  const templates = domains.flatMap((domain) => domain.templates.map(({ id, kind }) => ({ id, kind })));
  const only = isSflow ? "counters" : templates.length > 0 ? "templates and options" : "no flow records";
  return [
    {
      id: "no-flows",
      severity: "problem",
      exporter: address,
      sentence:
        `${exporterText(address, facts)} sent ${count(datagrams, "datagram")} and no flow in them: ${only} only.`.replace(
          ": no flow records only",
          "",
        ),
      evidence: { datagrams, records, protocols: [...new Set(domains.map(({ protocol }) => protocol))], templates },
      advice: isSflow
        ? "Turn on packet sampling on the agent's interfaces: it polls counters only."
        : "Bind the flow monitor to interfaces (Cisco: `ip flow monitor … input`), and check that traffic passes them.",
    },
  ];
}

function domainName({ protocol, id, port }: DomainView): string {
  const name = protocol === "netflow9" ? "Source ID" : "observation domain";
  return `${name} ${id}${port === undefined ? "" : ` (port ${port})`}`;
}
