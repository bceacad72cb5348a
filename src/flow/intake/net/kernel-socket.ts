import { readFileSync } from "node:fs";

/** What the kernel says of the UDP sockets bound to a port. */
export interface KernelSocket {
  /** Datagrams that it dropped because nobody read them in time. */
  readonly drops: number;
  /** Bytes received and not read yet. */
  readonly queued: number;
}

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
 * Drops and queues by local port, summed over the sockets of both families.
 *
 * @returns undefined where the kernel has no such tables.
 */
export function readKernelSockets(
  read: (path: string) => string | undefined = readKernelTable,
): ReadonlyMap<number, KernelSocket> | undefined {
  const texts = tables.map(read).filter((text) => text !== undefined);
  if (texts.length === 0) return undefined;
  const sockets = new Map<number, KernelSocket>();
  for (const text of texts) {
    for (const line of text.split("\n").slice(1)) {
      // sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode ref pointer drops
      const columns = line.trim().split(/\s+/);
      const port = Number.parseInt(columns[1]?.split(":")[1] ?? "", 16);
      const queued = Number.parseInt(columns[4]?.split(":")[1] ?? "", 16);
      const drops = Number(columns.at(-1));
      if (columns.length < 13 || !Number.isInteger(port + queued + drops)) continue;
      const known = sockets.get(port);
      sockets.set(port, { drops: drops + (known?.drops ?? 0), queued: queued + (known?.queued ?? 0) });
    }
  }
  return sockets;
}
