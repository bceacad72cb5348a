import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { usmCredential } from "../definitions/device-credentials.ts";
import type { Finding } from "../definitions/finding.ts";
import { parseDefinitionFile } from "../definitions/parse-file.ts";
import type { UsmCredential } from "../session/credential.ts";

/** Whose notifications count. */
export interface TrapCredentials {
  /** undefined: every community. */
  readonly communities: ReadonlySet<string> | undefined;
  readonly users: readonly UsmCredential[];
  readonly findings: readonly Finding[];
}

/**
 * Reads a directory of files with `communities` and `v3_credentials`, in the form that devices have them. Without a directory every
 * community counts. Files with faults are left out; `findings` has the faults.
 */
export async function readTrapCredentials(directory: string): Promise<TrapCredentials> {
  if (directory === "") return { communities: undefined, users: [], findings: [] };
  const communities = new Set<string>();
  const users: UsmCredential[] = [];
  const findings: Finding[] = [];
  let names: string[];
  try {
    names = (await readdir(directory)).sort();
  } catch (error) {
    const message = `the directory cannot be read (${(error as NodeJS.ErrnoException).code}): no community counts`;
    return { communities, users, findings: [faultOf(directory, message)] };
  }
  for (const name of names) {
    if (!/\.ya?ml$/.test(name) || name.startsWith(".")) continue;
    const path = join(directory, name);
    const parsed = parseDefinitionFile("device_default", path, await readFile(path));
    findings.push(...parsed.findings);
    for (const { draft } of parsed.entries) {
      for (const community of draft?.communities ?? []) communities.add(community.reveal());
      for (const credential of draft?.v3Credentials ?? []) users.push(usmCredential(credential));
    }
  }
  return { communities, users, findings };
}

function faultOf(file: string, message: string): Finding {
  const nowhere = { line: undefined, column: undefined, id: undefined, suggestion: undefined };
  return { severity: "error", kind: "device_default", file, message, ...nowhere };
}
