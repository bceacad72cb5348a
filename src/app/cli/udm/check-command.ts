import { createKeyConflicts } from "../../../enrich/index.ts";
import { checkMetadataFile } from "../../../metadata/index.ts";
import { readInput, type Terminal, exitCodes } from "../terminal.ts";
import type { DefineCommand } from "../command.ts";

/**
 * Checks a metadata file by the collector's rules, and writes all findings.
 *
 * @param path of a file or a pipe: `-`, `/dev/stdin`, `<(…)`.
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

/** Defines `udm check <file>`: checks a metadata file as the collector would read it. It needs no collector and changes nothing. */
export const defineCheck: DefineCommand = (check, { terminal, setExitCode }) => {
  check.action(async (path: string) => {
    if (!(await checkMetadata(path, terminal))) setExitCode(exitCodes.failure);
  });
};
