import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";

/**
 * Where a program of the host is. Without it the test is skipped, saying how to install it, or fails when
 * `NETGLOSS_SYSTEM_STRICT=1` says that this host has to have everything.
 *
 * @returns undefined when the test has been skipped and must return at once.
 */
export function requireProgram(t: Pick<TestContext, "skip">, name: string, installHint: string): string | undefined {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
  if (found !== undefined) return found;
  const message = `${name} is not on the PATH: ${installHint}`;
  if (process.env["NETGLOSS_SYSTEM_STRICT"] === "1") throw new Error(message);
  t.skip(message);
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
