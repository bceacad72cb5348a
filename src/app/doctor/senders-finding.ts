import type { DomainView, ExporterView } from "../../flow/index.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { exporterText } from "./exporter-text.ts";
import type { Facts } from "./facts.ts";
import { groupBy } from "./group-by.ts";
import { list, time } from "./wording.ts";

/** A port that was silent for longer is one of an earlier start. */
const activeMs = 5 * 60_000;
/** Start times of one device differ by less: its clock runs, and headers have whole seconds. */
const sameStartMs = 60_000;
/** Uptimes are modulo 2^32 milliseconds. */
const uptimeWrapMs = 2 ** 32;

interface ActiveSender {
  readonly domain: DomainView;
  readonly port: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly bootTime: number | undefined;
}

/**
 * Several devices that send from one address: NAT, or a relay. Two ports that send at the same time, within one observation domain, are
 * several exporting processes; start times that differ make them several devices.
 */
export function severalDevices(exporter: ExporterView, facts: Facts): Diagnosis[] {
  const { address, domains, lastSeen } = exporter;
  // Its records say which device they are of.
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
  const sum = (count: (domain: DomainView) => number): number =>
    [...ofPorts].reduce((all, each) => all + count(each), 0);
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

/** What of two devices at one address nothing tells apart. */
function mixedUp(protocol: DomainView["protocol"]): string {
  if (protocol === "sflow") return "Their sampling rates and sequence numbers get mixed up.";
  if (protocol === "ipfix") return "Their sampling rates and interface names get mixed up.";
  const own = protocol === "netflow9" ? "templates, options and sequence numbers" : "sequence numbers";
  return `Each port has its ${own}, but what SNMP, metadata and files know by the exporter's address is the same for all.`;
}

/** Whether it sent before and after another one: a device that started again leaves its old port for good. */
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
