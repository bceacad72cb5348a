import { open, rm } from "node:fs/promises";

const chunk = Buffer.alloc(1024 * 1024, "netgloss\n");

/**
 * Writes this many bytes to a file in large pieces, and removes it: what the page cache and the disk take at most. Where a virtual
 * machine gives free memory back to its host, the pages of a file are slow to come by: 340 MB/s for the first write, 2 to 3 GB/s for the
 * next one. So this is also what makes a trial of a file's writer comparable, when it is done just before.
 *
 * @returns bytes per second.
 */
export async function writeBareFile(path: string, bytes: number): Promise<number> {
  const file = await open(path, "w");
  const start = performance.now();
  for (let written = 0; written < bytes; written += chunk.length) await file.write(chunk);
  const seconds = (performance.now() - start) / 1000;
  await file.close();
  await rm(path);
  return bytes / seconds;
}
