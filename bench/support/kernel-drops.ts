import { readFileSync } from "node:fs";

/** Datagrams that the kernel dropped because nobody read them from the sockets of a port in time. Linux only. */
export function kernelDrops(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  let drops = 0;
  for (const table of ["/proc/net/udp", "/proc/net/udp6"]) {
    for (const line of readFileSync(table, "latin1").split("\n")) {
      const columns = line.trim().split(/\s+/);
      // The generator's sockets have it as the port of the other side.
      if (columns[1]?.endsWith(end) === true) drops += Number(columns.at(-1));
    }
  }
  return drops;
}
