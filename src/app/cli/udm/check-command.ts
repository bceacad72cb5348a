import { createKeyConflicts } from "../../../enrich/index.ts";
import { checkMetadataFile } from "../../../metadata/index.ts";
import { readInput, type Terminal, exitCodes } from "../terminal.ts";
import type { DefineCommand } from "../command.ts";

/**
 * Judges a metadata file by the rules by which the collector reads it, and writes all that it finds.
 *
 * @param path also of a pipe: `-`, `/dev/stdin`, `<(…)`.
 * @returns whether the file can be used.
 */
async function checkMetadata(path: string, terminal: Terminal): Promise<boolean> {
  let bytes: Uint8Array;
  try {
    bytes = await readInput(path, terminal);
  } catch (error) {
    terminal.err(`error: ${(error as Error).message}\n`);
    return false;
  }
  const { entries, findings } = checkMetadataFile(bytes, createKeyConflicts());
  for (const { severity, line, column, message } of findings) {
    terminal.err(`${severity}: ${path}:${line}:${column}: ${message}\n`);
  }
  const errors = findings.filter(({ severity }) => severity === "error").length;
  if (errors > 0) {
    terminal.err(`${path}: ${errors} ${errors === 1 ? "error" : "errors"}: the collector would not read this file\n`);
    return false;
  }
  terminal.out(`${path}: ${entries.length} ${entries.length === 1 ? "entry" : "entries"}\n`);
  return true;
}

/** `udm check <file>`: judges a metadata file as the collector would read it. Needs no collector and changes nothing. */
export const defineCheck: DefineCommand = (check, { terminal, setExitCode }) => {
  check.action(async (path: string) => {
    if (!(await checkMetadata(path, terminal))) setExitCode(exitCodes.failure);
  });
};
