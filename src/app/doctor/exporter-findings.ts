import type { DomainView, ExporterView } from "../../flow/index.ts";
import { clockOff } from "./clock-finding.ts";
import { countersDisagree } from "./counters-finding.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { agentDrops, gaps } from "./loss-findings.ts";
import { samplingFindings } from "./sampling-findings.ts";
import { severalDevices } from "./senders-finding.ts";
import { inAndOut } from "./twice-findings.ts";
import { count, list, number, span, time } from "./wording.ts";

/** Exporters that have anything to say send it more often. */
const silentAfterMs = 10 * 60_000;
/** Templates come again every few minutes; some exporters need half an hour. */
const templatePatienceMs = 60_000;
const noFlowsAfterMs = 5 * 60_000;

/** What is wrong with one exporter. */
export function exporterFindings(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const quiet = silent(exporter, facts);
  // What an earlier run knew says nothing of today, and what a relay passes on is judged by its own datagrams.
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

/** An address from which nothing came. */
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
  // Its flows are those of the exporters that it passes on.
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
