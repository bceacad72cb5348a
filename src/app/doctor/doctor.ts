import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import {
  listKernelSockets,
  type KernelSocket,
  type Clock,
  type Component,
  type FamilyReading,
  type Metrics,
} from "../../base/report/index.ts";
import type { HostCounters, OtherSocket, PortFacts, Facts, OutputFacts, FlowCounts } from "./facts.ts";
import { type Diagnosis, type Severity, count, list, number, span } from "./diagnosis.ts";
import { collectorFindings } from "./collector-findings.ts";
import { exporterFindings, neverHeard } from "./exporter-findings.ts";
import { sameFlows } from "./twice-findings.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { ExporterTraffic, ExporterView } from "../../flow/index.ts";
import type { DeviceCounters } from "../../snmp/index.ts";

/** Ports that exporters and their documentation use, in addition to ours. */
const usualPorts: ReadonlySet<number> = new Set([2055, 2056, 4432, 4739, 6343, 9025, 9555, 9995, 9996]);

/** The kernel's files as text; undefined where there is none. */
export interface HostFiles {
  readonly read: (path: string) => string | undefined;
  readonly list: (path: string) => readonly string[];
  /** Returns the target of a symbolic link; undefined without permission. */
  readonly link: (path: string) => string | undefined;
}

const hostFiles: HostFiles = {
  read: (path) => attempt(() => readFileSync(path, "latin1")),
  list: (path) => attempt(() => readdirSync(path)) ?? [],
  link: (path) => attempt(() => readlinkSync(path)),
};

/** Reads the counters of UDP and IP since the host started; undefined where the kernel has none. */
function readHostCounters({ read }: HostFiles): HostCounters | undefined {
  const udp = readCounters(read("/proc/net/snmp"), "Udp");
  if (udp === undefined) return undefined;
  const tcpExt = readCounters(read("/proc/net/netstat"), "TcpExt");
  return {
    noPorts: udp.get("NoPorts") ?? 0,
    bufferErrors: udp.get("RcvbufErrors") ?? 0,
    checksumErrors: udp.get("InCsumErrors") ?? 0,
    reversePathFilter: tcpExt?.get("IPReversePathFilter") ?? 0,
  };
}

/** Returns the counts since an earlier reading. */
function countedSince(before: HostCounters | undefined, now: HostCounters | undefined): HostCounters | undefined {
  if (before === undefined || now === undefined) return undefined;
  return {
    noPorts: now.noPorts - before.noPorts,
    bufferErrors: now.bufferErrors - before.bufferErrors,
    checksumErrors: now.checksumErrors - before.checksumErrors,
    reversePathFilter: now.reversePathFilter - before.reversePathFilter,
  };
}

/** Reads which interfaces have a strict reverse path filter: the greater of their own setting and that of all. */
function readStrictInterfaces({ read, list: listFolder }: HostFiles): readonly string[] {
  const directory = "/proc/sys/net/ipv4/conf";
  const modeOf = (name: string): number => Number(read(`${directory}/${name}/rp_filter`) ?? 0);
  const all = modeOf("all");
  return listFolder(directory).filter(
    (name) => !["all", "default", "lo"].includes(name) && Math.max(all, modeOf(name)) === 1,
  );
}

/** Reads our flow ports as the kernel sees them, and other programs' sockets at these and at usual ports. */
export function readSockets(
  ports: readonly number[],
  files: HostFiles,
): { readonly ports: readonly PortFacts[]; readonly others: readonly OtherSocket[] } {
  const all = listKernelSockets((path) => files.read(path));
  const ours = ownInodes(files);
  const isOurs = ({ inode }: KernelSocket): boolean => ours.has(inode);
  const open = ports.map((port): PortFacts => {
    const socket = all?.filter((one) => one.port === port && isOurs(one));
    if (socket === undefined || socket.length === 0) return { port, drops: undefined, queued: undefined };
    const sum = (of: (one: KernelSocket) => number): number => socket.reduce((total, one) => total + of(one), 0);
    return { port, drops: sum(({ drops }) => drops), queued: sum(({ queued }) => queued) };
  });
  const strangers = (all ?? []).filter(
    (socket) => !isOurs(socket) && (ports.includes(socket.port) || usualPorts.has(socket.port)),
  );
  const owners = strangers.length > 0 ? findOwners(new Set(strangers.map(({ inode }) => inode)), files) : new Map();
  const others = strangers.map(({ port, address, inode, uid }): OtherSocket => {
    return { port, uid, isSpecific: !/^0+$/.test(address), owner: owners.get(inode) as string | undefined };
  });
  return { ports: open, others };
}

/** Reads counters from `Udp: InDatagrams NoPorts …` and, in the next line, `Udp: 17 0 …`. */
function readCounters(text: string | undefined, group: string): ReadonlyMap<string, number> | undefined {
  const [names, values] = (text ?? "").split("\n").filter((line) => line.startsWith(`${group}: `));
  if (names === undefined || values === undefined) return undefined;
  const numbers = values.split(" ").slice(1).map(Number);
  return new Map(
    names
      .split(" ")
      .slice(1)
      .map((name, i) => [name, numbers[i] ?? 0]),
  );
}

function ownInodes(files: HostFiles): ReadonlySet<number> {
  return new Set(socketsOf("self", files));
}

/** Finds process id and name by the inode of a socket, for processes that may be inspected. */
function findOwners(inodes: ReadonlySet<number>, files: HostFiles): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const pid of files.list("/proc")) {
    if (!/^[0-9]+$/.test(pid)) continue;
    for (const inode of socketsOf(pid, files)) {
      if (inodes.has(inode)) owners.set(inode, `${pid} (${files.read(`/proc/${pid}/comm`)?.trim() ?? "?"})`);
    }
    if (owners.size === inodes.size) break;
  }
  return owners;
}

function socketsOf(pid: string, files: HostFiles): number[] {
  return files.list(`/proc/${pid}/fd`).flatMap((fd) => {
    const inode = /^socket:\[([0-9]+)\]$/.exec(files.link(`/proc/${pid}/fd/${fd}`) ?? "")?.[1];
    return inode === undefined ? [] : [Number(inode)];
  });
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Finds outputs that are away, full, or refused. */
function outputFindings(facts: Facts): Diagnosis[] {
  return (facts.outputs ?? []).flatMap((output) =>
    [failing(output, facts), diagnoseDrops(output), diagnoseRefusals(output)].flatMap((found) => found ?? []),
  );
}

/** Ends a text with a full stop, unless it ends like a sentence, as a store's text may. */
const sentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

function failing(output: OutputFacts, { now }: Facts): Diagnosis | undefined {
  const { name, state, fault, faultSince, blame, waitingRecords = 0, spoolMode } = output;
  if (state === "working" || fault === undefined) return undefined;
  const since = faultSince === undefined ? "" : ` for ${span(Math.max(1000, now - faultSince))}`;
  const waiting =
    waitingRecords === 0 ? "" : ` ${count(waitingRecords, "record")} ${waitingRecords === 1 ? "waits" : "wait"}.`;
  return {
    id: "output-failing",
    severity: "problem",
    sentence: `The output ${name} fails${since}: ${sentence(fault)}${waiting}`,
    evidence: { output: name, state, blame, waitingRecords, spoolMode },
    advice:
      blame === "operator"
        ? `Mend what the sentence says at the store or in the settings of this output; nothing is refused meanwhile. \`netgloss output test ${name}\` tries it.`
        : `Look at the store and the way to it; \`netgloss output test ${name}\` tries it. Records wait as docs/outputs.md says, then they are lost.`,
  };
}

/** Reasons for lost records, as the end of a sentence. */
const causes: Readonly<Record<string, string>> = {
  queue_full: "its queue in memory was full",
  closed: "its reader was gone",
  stopped: "the collector stopped before they were written",
  spool_full: "its spool on disk was full",
  spool_damaged: "its spool on disk was damaged",
  thread_died: "its thread ended",
};

function diagnoseDrops({ name, deliveredRecords = 0, drops: lost = [] }: OutputFacts): Diagnosis | undefined {
  if (lost.length === 0) return undefined;
  const records = lost.reduce((sum, one) => sum + one.records, 0);
  const why = lost.map((one) => `${number(one.records)} because ${causes[one.reason] ?? one.reason}`);
  return {
    id: "output-drops",
    severity: "warning",
    sentence: `The output ${name} has lost ${count(records, "record")}: ${list(why)}.`,
    evidence: { output: name, deliveredRecords, drops: lost },
    advice:
      "If the store was away, give the output a spool (SPOOL_MODE, SPOOL_MAX_SIZE, SVC_STATE_DIRECTORY_PATH); if it is slow, raise REQUESTS_IN_FLIGHT or send it less (FILTER, THIN_RATE, ROLLUP_FIELDS).",
  };
}

function diagnoseRefusals({
  name,
  refusedRecords = 0,
  refusals = [],
  deadLetters,
}: OutputFacts): Diagnosis | undefined {
  if (refusedRecords === 0) return undefined;
  const [last] = refusals;
  const reason = last === undefined ? "" : ` The last reason: ${sentence(last.reason)}`;
  return {
    id: "output-refused",
    severity: "warning",
    sentence: `The store of the output ${name} has refused ${count(refusedRecords, "record")}.${reason}`,
    evidence: { output: name, refusedRecords, deadLetters: deadLetters?.records },
    advice:
      deadLetters === undefined
        ? "Mend the reason at the store. Without SVC_STATE_DIRECTORY_PATH refused records are not kept."
        : `Mend the reason at the store, then \`netgloss output resend ${name}\` sends the dead letters again.`,
  };
}

const bySeverity: Readonly<Record<Severity, number>> = { problem: 0, warning: 1, note: 2 };

/**
 * Finds why flows are missing or wrong, the worst first.
 *
 * @param address of the exporter to examine, in canonical text; absent: all of them. Findings about the collector itself are always
 * included, because they concern every exporter.
 */
export function diagnose(facts: Facts, address?: string): readonly Diagnosis[] {
  const found = [...collectorFindings(facts), ...outputFindings(facts)];
  if (facts.enabled) {
    const asked = facts.exporters.filter((exporter) => address === undefined || exporter.address === address);
    if (address !== undefined && asked.length === 0) found.push(neverHeard(address, facts));
    found.push(...asked.flatMap((exporter) => exporterFindings(exporter, facts)), ...sameFlows(facts, address));
  }
  return found.toSorted((a, b) => bySeverity[a.severity] - bySeverity[b.severity]);
}

export interface DoctorOptions {
  /** True if flows are received. */
  readonly enabled: boolean;
  /** Returns the open flow ports. */
  readonly ports: () => readonly number[];
  /** Returns the ports of TCP and TLS. */
  readonly streamPorts: () => readonly number[];
  readonly exporters: () => Promise<readonly ExporterView[]>;
  /** Returns the name of the exporter of an address by metadata. */
  readonly nameOf?: (address: string) => string | undefined;
  /** Returns the traffic through the interfaces of exporters, by their flows. */
  readonly traffic: () => Promise<readonly ExporterTraffic[]>;
  /** Returns the counters of the device of an address; undefined: it is not polled. */
  readonly counters: (address: string) => DeviceCounters | undefined;
  readonly metrics: Pick<Metrics, "everything">;
  /** Returns the enabled outputs. */
  readonly outputs?: () => Promise<NonNullable<Facts["outputs"]>>;
  /** Returns the traps that were refused. */
  readonly refusedTraps?: () => Facts["refusedTraps"];
  /** Returns the fleet that the collector should be a member of but is not. */
  readonly leftFleet?: () => Facts["leftFleet"];
  readonly clock: Clock;
}

/** The diagnosis of a collector, or of one exporter, as the API answers it. */
export interface DoctorAnswer {
  /** True if neither a problem nor a warning was found. */
  readonly healthy: boolean;
  /** The time, milliseconds since the epoch. */
  readonly at: number;
  readonly ports: readonly number[];
  /** The number of exporters that were examined. */
  readonly exporters: number;
  readonly diagnoses: readonly Diagnosis[];
}

/** Diagnoses why flows are missing or wrong. It starts before the ports open, to compare the host's counters with those at that time. */
export class Doctor implements Component {
  readonly name = "doctor";
  readonly #options: DoctorOptions;
  readonly #files: HostFiles;
  #startedAt: number;
  #before: HostCounters | undefined;

  /** @param files of this host. */
  constructor(options: DoctorOptions, files = hostFiles) {
    this.#options = options;
    this.#files = files;
    this.#startedAt = options.clock.now();
  }

  async start(): Promise<void> {
    this.#startedAt = this.#options.clock.now();
    this.#before = readHostCounters(this.#files);
  }

  async stop(): Promise<void> {}

  /** @returns undefined when the text is not an address. */
  async diagnose(text?: string): Promise<DoctorAnswer | undefined> {
    const address = text === undefined ? undefined : parseAddress(text);
    if (text !== undefined && address === undefined) return undefined;
    const canonical = address && formatAddress(unmapAddress(address));
    const facts = await this.#gather(canonical);
    const diagnoses = diagnose(facts, canonical);
    return {
      healthy: diagnoses.every(({ severity }) => severity === "note"),
      at: facts.now,
      ports: facts.ports.map(({ port }) => port),
      exporters: facts.exporters.filter((one) => canonical === undefined || one.address === canonical).length,
      diagnoses,
    };
  }

  async #gather(asked: string | undefined): Promise<Facts> {
    const options = this.#options;
    const files = this.#files;
    const sockets = readSockets(options.ports(), files);
    const exporters = await options.exporters();
    return {
      now: options.clock.now(),
      startedAt: this.#startedAt,
      enabled: options.enabled,
      refusedTraps: options.refusedTraps?.(),
      leftFleet: options.leftFleet?.(),
      ports: sockets.ports,
      streamPorts: options.streamPorts(),
      otherSockets: sockets.others,
      host: countedSince(this.#before, readHostCounters(files)),
      strictInterfaces: readStrictInterfaces(files),
      outputs: (await options.outputs?.()) ?? [],
      counts: flowCounts(await options.metrics.everything()),
      exporters,
      names: this.#namesOf(exporters, asked),
      measured: (await options.traffic()).flatMap((traffic) => {
        const counters = options.counters(traffic.address);
        return counters === undefined ? [] : [{ traffic, counters }];
      }),
    };
  }

  #namesOf(exporters: readonly ExporterView[], asked: string | undefined): ReadonlyMap<string, string> {
    const addresses = exporters.flatMap(({ address, relay }) => [address, relay]);
    const named = [...new Set([...addresses, asked])].flatMap((address): [string, string][] => {
      const name = address === undefined ? undefined : this.#options.nameOf?.(address);
      return address === undefined || name === undefined ? [] : [[address, name]];
    });
    return new Map(named);
  }
}

type MetricSample = FamilyReading["samples"] extends Iterable<infer Sample> ? Sample : never;

/** Reasons for which a whole datagram is not decoded, whatever it contains. */
const refusals: ReadonlySet<unknown> = new Set(["unknown_protocol", "unsupported", "disabled"]);

/** Returns the counts of flows by the collector's metrics. */
export function flowCounts(families: readonly FamilyReading[]): FlowCounts {
  const samplesOf = (name: string): MetricSample[] =>
    families.flatMap((family) => (family.name === name ? [...family.samples] : []));
  const sum = (name: string): number => samplesOf(name).reduce((total, [, value]) => total + value, 0);
  const refused: Record<string, number> = {};
  for (const [labels, value] of samplesOf("netgloss_flow_drops_total")) {
    const reason = labels["reason"];
    if (refusals.has(reason)) refused[String(reason)] = (refused[String(reason)] ?? 0) + value;
  }
  return {
    datagrams: sum("netgloss_flow_datagrams_total"),
    queueDrops: sum("netgloss_flow_queue_drops_total"),
    lineDrops: sum("netgloss_flow_lines_dropped_total"),
    refused,
  };
}
