import { readFileSync } from "node:fs";

/** A UDP socket of this host, or of this container, as the kernel shows it. */
export interface KernelSocket {
  readonly port: number;
  /** The address it is bound to, in the kernel's hexadecimal words; all zeros is every address. */
  readonly address: string;
  /** Datagrams that it dropped because nobody read them in time. */
  readonly drops: number;
  /** Bytes received and not read yet. */
  readonly queued: number;
  /** The user it belongs to. */
  readonly uid: number;
  readonly inode: number;
}

/** The counts of the kernel for the UDP sockets bound to a port. */
export type KernelPort = Pick<KernelSocket, "drops" | "queued">;

/** The tables of Linux; elsewhere there are none. */
const tables = ["/proc/net/udp", "/proc/net/udp6"];

/** Reads a table of the kernel; undefined where it does not exist. */
export function readKernelTable(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

/**
 * All UDP sockets of both families.
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
 * Drops and queues by local port, summed over the sockets of both families.
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

/** The socket of a line; none when it is no such line. */
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
