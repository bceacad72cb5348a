import { readFile } from "node:fs/promises";
import { CommandError, type Terminal } from "./terminal.ts";

/** A standard input that is a socket cannot be opened by its path. */
const isStandardInput = (path: string): boolean => path === "-" || path === "/dev/stdin";

/**
 * Reads a file, or a pipe: `-`, `/dev/stdin`, `<(…)`.
 *
 * @throws CommandError `failed` that names it.
 */
export async function readInput(path: string, terminal: Terminal): Promise<Uint8Array> {
  try {
    if (!isStandardInput(path)) return await readFile(path);
    const parts: Uint8Array[] = [];
    for await (const part of terminal.input) parts.push(typeof part === "string" ? Buffer.from(part) : part);
    return Buffer.concat(parts);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError("failed", `${path}: ${code === "ENOENT" ? "no such file" : message}`);
  }
}
