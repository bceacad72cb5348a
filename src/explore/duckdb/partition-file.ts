import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const pattern = /^flows-(\d{8}T\d{2})-(\d{4})\.duckdb$/;
const damaged = /\.damaged$/;

/** The name of a partition that begins at a time; it is that of its file without the ending, too. */
export function partitionName(time: number, number: number): string {
  const hour = new Date(time).toISOString().slice(0, 13).replaceAll("-", "");
  return `flows-${hour}-${String(number).padStart(4, "0")}`;
}

/** The names of the partitions in a directory, the oldest first. */
export function listPartitions(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((file) => pattern.test(file))
    .map((file) => file.slice(0, -".duckdb".length))
    .toSorted();
}

export function partitionPath(directory: string, name: string): string {
  return join(directory, `${name}.duckdb`);
}

/** Bytes on disk, with what is not yet in its place. */
export function partitionBytes(directory: string, name: string): number {
  const path = partitionPath(directory, name);
  return sizeOf(path) + sizeOf(`${path}.wal`);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function removePartition(directory: string, name: string): void {
  const path = partitionPath(directory, name);
  rmSync(path, { force: true });
  rmSync(`${path}.wal`, { force: true });
}

/** Puts a file that cannot be read out of the way; of those before it none is kept. @returns where it is. */
export function setAside(directory: string, name: string): string {
  for (const file of readdirSync(directory)) if (damaged.test(file)) rmSync(join(directory, file), { force: true });
  const path = partitionPath(directory, name);
  for (const each of [path, `${path}.wal`]) if (sizeOf(each) > 0) renameSync(each, `${each}.damaged`);
  return `${path}.damaged`;
}
