import { type Diagnosis, groupBy, count, list, number, percent, span, time } from "./diagnosis.ts";
import type { RefusedTraps } from "../../snmp/index.ts";
import type { Facts, OtherSocket, PortFacts } from "./facts.ts";

/** The time after a start in which silence is normal. */
const patienceMs = 60_000;
/** The share of losses below which a finding is only a note. */
const smallShare = 0.001;

/** Finds faults of the collector or its host, independent of the senders. */
export function collectorFindings(facts: Facts): Diagnosis[] {
  const others = [notInFleet, trapsRefused].flatMap((find) => find(facts) ?? []);
  if (!facts.enabled) return [flowsOff, ...others];
  return [nothingReceived, portShared, notUnderstood, kernelDrops, queueDrops]
    .flatMap((find) => find(facts) ?? [])
    .concat(others);
}

const flowsOff: Diagnosis = {
  id: "flows-off",
  severity: "problem",
  sentence: "The collector does not receive flows: SVC_FLOW_SERVER_UDP_ENABLE is false.",
  evidence: { setting: "SVC_FLOW_SERVER_UDP_ENABLE" },
  advice: "Set SVC_FLOW_SERVER_UDP_ENABLE=true and start the collector again.",
};

function notInFleet({ leftFleet }: Facts): Diagnosis | undefined {
  if (leftFleet === undefined) return undefined;
  const { fleet, member, reason } = leftFleet;
  return {
    id: "not-in-fleet",
    severity: "problem",
    sentence: `The collector is not a member of the fleet ${fleet}: ${reason}.`,
    evidence: { fleet, member },
    advice:
      "Check that this host reaches the database of the fleet, and that no other collector has its SVC_FLEET_MEMBER. Until then other collectors poll its SNMP devices.",
  };
}

/** The age from which refusals are only a note. */
const recentMs = 3_600_000;

function trapsRefused({ refusedTraps = [], now }: Facts): Diagnosis[] {
  return [...groupBy(refusedTraps, ({ reason }) => reason)].map(([reason, refused]) => {
    const [why, advice] = trapRefusals[reason];
    const senders = refused.toSorted((a, b) => b.count - a.count);
    const total = senders.reduce((sum, one) => sum + one.count, 0);
    const isRecent = senders.some(({ lastAt }) => now - lastAt < recentMs);
    return {
      id: "traps-refused",
      severity: isRecent ? "warning" : "note",
      sentence: `${count(total, "SNMP trap")} of ${list(senders.map(({ sender }) => sender))} ${total === 1 ? "was" : "were"} refused: ${why}.`,
      evidence: {
        reason,
        senders: senders.map((one) => ({ sender: one.sender, count: one.count, last: time(one.lastAt) })),
      },
      advice,
    };
  });
}

const credentialsAdvice =
  "Compare the sender's settings with the files in SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH and with the users of polled devices.";
const trapRefusals: Readonly<Record<RefusedTraps["reason"], readonly [why: string, advice: string]>> = {
  community: ["no file of credentials has their community", credentialsAdvice],
  user: ["their user is not known", credentialsAdvice],
  level: ["their security level is not that of their user", credentialsAdvice],
  digest: ["their authentication passphrase or protocol is not that of their user", credentialsAdvice],
  decryption: ["their privacy passphrase or protocol is not that of their user", credentialsAdvice],
  time_window: [
    "their engine boots and time are those of an earlier start, as if somebody repeated old traps",
    "Have the sender keep its engine boots (snmpEngineBoots) over a restart. If it cannot, list it in SVC_INPUT_TRAP_LISTENER_UNTIMELY_SOURCES.",
  ],
};

function nothingReceived(facts: Facts): Diagnosis | undefined {
  const { now, startedAt, counts, ports, streamPorts, otherSockets, host, strictInterfaces } = facts;
  if (counts.datagrams > 0 || now - startedAt < patienceMs) return undefined;
  const [why, advice] = whyNothing(facts);
  return {
    id: "nothing-received",
    severity: "problem",
    sentence: `No datagram has come in ${span(now - startedAt)} on ${openPorts(facts)}. ${why}`.trim(),
    evidence: { since: time(startedAt), ports, streamPorts, host, strictInterfaces, otherSockets },
    advice,
  };
}

/** Returns the likeliest reason by the host's counters, and advice. */
function whyNothing(facts: Facts): readonly [why: string, advice: string] {
  const { ports, streamPorts, otherSockets, host, strictInterfaces } = facts;
  if (ports.length === 0) {
    return [
      "",
      `Check that exporters connect to an address of this host and TCP port ${list(streamPorts)}, and that no firewall is between. Exporters that send by UDP need SVC_FLOW_SERVER_UDP_ENABLE.`,
    ];
  }
  const numbers = ports.map(({ port }) => port);
  const stuck = ports.filter(({ queued = 0, drops = 0 }) => queued > 0 || drops > 0);
  if (stuck.length > 0) {
    return [
      `The kernel has datagrams for ${portList(stuck)}, but the collector does not read them.`,
      "Look at /readyz and the log for a thread that died, and start the collector again.",
    ];
  }
  const taken = otherSockets.find(({ port, isSpecific }) => isSpecific && numbers.includes(port));
  if (taken !== undefined) return [`${ownerOf(taken)} may get what is sent to UDP port ${taken.port}.`, takenAdvice];
  if (host !== undefined && host.reversePathFilter > 0) {
    return [
      `The kernel dropped ${count(host.reversePathFilter, "packet")} because the way back to the sender is another interface (rp_filter).`,
      `Set net.ipv4.conf.<interface>.rp_filter=2 by sysctl for the interface that flows come in by${strictHint(strictInterfaces)}, or give this host a route to the exporters by that interface.`,
    ];
  }
  const neighbours = otherSockets.filter(({ port }) => !numbers.includes(port));
  if (host !== undefined && host.noPorts > 0) {
    return [
      `${count(host.noPorts, "datagram")} came to UDP ports of this host that nobody has open: the exporters may send to another port.`,
      `Find the port with \`tcpdump -ni any udp\`, then send to one of ${list(numbers)}, or add the port to SVC_FLOW_SERVER_UDP_PORT.`,
    ];
  }
  if (neighbours.length > 0) {
    const who = neighbours.map((socket) => `${ownerOf(socket)} has UDP port ${socket.port}`);
    return [
      `${list(who, 3)}: exporters may send there.`,
      `Send to one of ${list(numbers)}, or stop the other program and add its port to SVC_FLOW_SERVER_UDP_PORT.`,
    ];
  }
  return [
    host === undefined ? "" : "The host counted no drops either.",
    `Check that the exporter sends to an address of this host and to port ${list(numbers)}, and that every firewall on the way lets UDP pass. ` +
      "`tcpdump -ni any udp` shows what reaches this host: datagrams that it shows and the collector does not get are dropped by this host's firewall " +
      `(\`nft list ruleset\`)${strictInterfaces.length > 0 ? ` or by rp_filter of ${list(strictInterfaces)}` : ""}.`,
  ];
}

function strictHint(strictInterfaces: readonly string[]): string {
  return strictInterfaces.length > 0 ? ` (strict now: ${list(strictInterfaces)})` : "";
}

const takenAdvice =
  "Stop that program, or have it use another port: a socket bound to one address takes precedence over one bound to all.";

function portShared({ ports, otherSockets, counts }: Facts): Diagnosis | undefined {
  const shared = otherSockets.filter(({ port, isSpecific }) => isSpecific && ports.some((ours) => ours.port === port));
  const [first] = shared;
  // If nothing was received at all, another finding reports that.
  if (first === undefined || counts.datagrams === 0) return undefined;
  return {
    id: "port-shared",
    severity: "warning",
    sentence: `${ownerOf(first)} has one address of UDP port ${first.port}, too: it gets the flows that are sent to that address.`,
    evidence: { sockets: shared },
    advice: takenAdvice,
  };
}

const refusals: Readonly<Record<string, string>> = {
  unknown_protocol: "are neither NetFlow, IPFIX nor sFlow v5",
  unsupported: "are of a version that is not decoded",
  disabled: "are of a protocol that is turned off",
};

function notUnderstood({ counts: { refused, datagrams } }: Facts): Diagnosis | undefined {
  const found = Object.entries(refused).filter(([, datagramCount]) => datagramCount > 0);
  if (found.length === 0) return undefined;
  const unknown = (refused["unknown_protocol"] ?? 0) + (refused["unsupported"] ?? 0);
  const said = found.map(([reason, of]) => `${number(of)} ${refusals[reason] ?? reason}`);
  return {
    id: "not-understood",
    severity: unknown === 0 ? "note" : "warning",
    sentence: `Of ${count(datagrams, "datagram")} received ${list(said)}.`,
    evidence: { datagrams, refused },
    advice:
      "The log names the senders (`flow datagram dropped`). Have them send NetFlow v1, v5, v7 or v9, IPFIX or sFlow v5, or send what is not flows " +
      "to another port. Protocols are turned on by SVC_PROCESSOR_DECODE_*_ENABLE.",
  };
}

function kernelDrops({ ports, counts: { datagrams } }: Facts): Diagnosis | undefined {
  const dropping = ports.filter(({ drops = 0 }) => drops > 0);
  const drops = dropping.reduce((sum, port) => sum + (port.drops ?? 0), 0);
  // If nothing was received, another finding reports that.
  if (drops === 0 || datagrams === 0) return undefined;
  const share = drops / (drops + datagrams);
  return {
    id: "kernel-drops",
    severity: share < smallShare ? "note" : "warning",
    sentence: `The kernel dropped ${count(drops, "datagram")} (${percent(share)}) at ${portList(dropping)}: the receive buffer was full.`,
    evidence: { drops, datagrams, ports },
    advice:
      "Raise SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE and the kernel's net.core.rmem_max. If the collector's processor is busy all the time, give it more cores.",
  };
}

function queueDrops({ counts: { queueDrops: inQueues, lineDrops, datagrams } }: Facts): Diagnosis | undefined {
  if (inQueues === 0 && lineDrops === 0) return undefined;
  const said = [
    ...(inQueues > 0 ? [`${count(inQueues, "datagram")} at the full queues of the decoding threads`] : []),
    ...(lineDrops > 0 ? [`${count(lineDrops, "record")} between decoding and the outputs`] : []),
  ];
  const share = inQueues / (inQueues + datagrams);
  return {
    id: "queue-drops",
    severity: lineDrops === 0 && share < smallShare ? "note" : "warning",
    sentence: `The collector dropped ${list(said)}: more came than it could take.`,
    evidence: { queueDrops: inQueues, lineDrops, datagrams },
    advice:
      "Give the collector more cores (SVC_PROCESSOR_POOL_SIZE), sample more coarsely at the exporters, or turn off enrichment that is not needed.",
  };
}

function openPorts({ ports, streamPorts }: Facts): string {
  const tcp = streamPorts.length > 0 ? [`TCP port${streamPorts.length > 1 ? "s" : ""} ${list(streamPorts)}`] : [];
  return [...(ports.length > 0 ? [portList(ports)] : []), ...tcp].join(" or ") || "any port: none is open";
}

function portList(ports: readonly PortFacts[]): string {
  return `UDP port${ports.length > 1 ? "s" : ""} ${list(ports.map(({ port }) => port))}`;
}

function ownerOf({ owner, uid }: OtherSocket): string {
  return owner === undefined ? `A program of user ${uid}` : `Process ${owner}`;
}
