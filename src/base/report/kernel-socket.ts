import { readFileSync } from "node:fs";

/** A UDP socket of this host, or of this container, as the kernel shows it. */
export interface KernelSocket {
  readonly port: number;
  /** The bound address, in the kernel's hexadecimal words. All zeros means every address. */
  readonly address: string;
  /** Datagrams dropped because they were not read in time. */
  readonly drops: number;
  /** Bytes received but not yet read. */
  readonly queued: number;
  /** The owning user. */
  readonly uid: number;
  readonly inode: number;
}

/** The counts of the kernel for the UDP sockets bound to a port. */
export type KernelPort = Pick<KernelSocket, "drops" | "queued">;

/** The socket tables of Linux. Other systems have none. */
const tables = ["/proc/net/udp", "/proc/net/udp6"];

/** Reads a kernel table; undefined where it does not exist. */
export function readKernelTable(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

/**
 * Lists all UDP sockets of both families.
 *
 * @returns undefined where the kernel has no such tables.
 */
export function listKernelSockets(
  read: (path: string) => string | undefined = readKernelTable,
): readonly KernelSocket[] | undefined {
  const texts = tables.map(read).filter((text) => text !== undefined);
  if (texts.length === 0) return undefined;
  return texts.flatMap((text) => text.split("\n").slice(1).flatMap(readLine));
}

/**
 * Returns drops and queues by local port, summed over the sockets of both families.
 *
 * @returns undefined where the kernel has no such tables.
 */
export function readKernelSockets(
  read: (path: string) => string | undefined = readKernelTable,
): ReadonlyMap<number, KernelPort> | undefined {
  const all = listKernelSockets(read);
  if (all === undefined) return undefined;
  const ports = new Map<number, KernelPort>();
  for (const { port, drops, queued } of all) {
    const known = ports.get(port);
    ports.set(port, { drops: drops + (known?.drops ?? 0), queued: queued + (known?.queued ?? 0) });
  }
  return ports;
}

/** Returns the socket of a line; none for any other line. */
function readLine(line: string): KernelSocket[] {
  // sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode ref pointer drops
  const columns = line.trim().split(/\s+/);
  const [address = "", portText = ""] = columns[1]?.split(":") ?? [];
  const port = Number.parseInt(portText, 16);
  const queued = Number.parseInt(columns[4]?.split(":")[1] ?? "", 16);
  const drops = Number(columns.at(-1));
  if (columns.length < 13 || !Number.isInteger(port + queued + drops)) return [];
  return [{ port, address, drops, queued, uid: Number(columns[7]), inode: Number(columns[9]) }];
}
