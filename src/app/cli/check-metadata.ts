import { readFile } from "node:fs/promises";
import { checkMetadataFile } from "../../udm/index.ts";
import type { Terminal } from "./terminal.ts";

/** A standard input that is a socket cannot be opened by its path. */
const isStandardInput = (path: string): boolean => path === "-" || path === "/dev/stdin";

async function readAll(input: AsyncIterable<string | Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of input) parts.push(typeof part === "string" ? Buffer.from(part) : part);
  return Buffer.concat(parts);
}

/**
 * Judges a metadata file by the rules by which the collector reads it, and writes all that it finds.
 *
 * @param path also of a pipe: `-`, `/dev/stdin`, `<(…)`.
 * @returns whether the file can be used.
 */
export async function checkMetadata(path: string, terminal: Terminal): Promise<boolean> {
  let bytes: Uint8Array;
  try {
    bytes = isStandardInput(path) ? await readAll(terminal.input) : await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    terminal.err(`error: ${path}: ${code === "ENOENT" ? "no such file" : message}\n`);
    return false;
  }
  const { entries, findings } = checkMetadataFile(bytes);
  for (const { severity, line, column, message } of findings) {
    terminal.err(`${severity}: ${path}:${line}:${column}: ${message}\n`);
  }
  const errors = findings.filter(({ severity }) => severity === "error").length;
  if (errors > 0) {
    terminal.err(`${path}: ${errors} ${errors === 1 ? "error" : "errors"}: the collector would not read this file\n`);
    return false;
  }
  terminal.out(`${path}: ${entries} ${entries === 1 ? "entry" : "entries"}\n`);
  return true;
}
