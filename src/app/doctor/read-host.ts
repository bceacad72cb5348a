import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { listKernelSockets, type KernelSocket } from "../../report/index.ts";
import type { HostCounters, OtherSocket, PortFacts } from "./facts.ts";

/** Ports that exporters and their documentation use, in addition to ours. */
const usualPorts: ReadonlySet<number> = new Set([2055, 2056, 4432, 4739, 6343, 9025, 9555, 9995, 9996]);

/** The files of the kernel as text; undefined where there is none. */
export interface HostFiles {
  readonly read: (path: string) => string | undefined;
  readonly list: (path: string) => readonly string[];
  /** Where a symbolic link leads; undefined where that may not be seen. */
  readonly link: (path: string) => string | undefined;
}

export const hostFiles: HostFiles = {
  read: (path) => attempt(() => readFileSync(path, "latin1")),
  list: (path) => attempt(() => readdirSync(path)) ?? [],
  link: (path) => attempt(() => readlinkSync(path)),
};

/** Counters of UDP and IP since the host started; undefined where the kernel does not say. */
export function readHostCounters({ read }: HostFiles): HostCounters | undefined {
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

/** What was counted since an earlier reading. */
export function countedSince(
  before: HostCounters | undefined,
  now: HostCounters | undefined,
): HostCounters | undefined {
  if (before === undefined || now === undefined) return undefined;
  return {
    noPorts: now.noPorts - before.noPorts,
    bufferErrors: now.bufferErrors - before.bufferErrors,
    checksumErrors: now.checksumErrors - before.checksumErrors,
    reversePathFilter: now.reversePathFilter - before.reversePathFilter,
  };
}

/** Interfaces whose reverse path filter is strict: the greater of its own setting and that of all. */
export function readStrictInterfaces({ read, list }: HostFiles): readonly string[] {
  const directory = "/proc/sys/net/ipv4/conf";
  const modeOf = (name: string): number => Number(read(`${directory}/${name}/rp_filter`) ?? 0);
  const all = modeOf("all");
  return list(directory).filter(
    (name) => !["all", "default", "lo"].includes(name) && Math.max(all, modeOf(name)) === 1,
  );
}

/** Our flow ports as the kernel sees them, and the sockets of others at these and at usual ports. */
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

/** `Udp: InDatagrams NoPorts …` and in the next line `Udp: 17 0 …`. */
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

/** Process id and name by the inode of a socket, of those processes that may be looked at. */
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
