import { readFile } from "node:fs/promises";
import { readReadyRules, type ReadyRule } from "../watch/index.ts";
import { packagePath } from "./package-root.ts";

/** Returns the path of the rules that come with the program. */
export function readyRulesPath(): string {
  return packagePath("definitions/watch.yml");
}

/** Reads the rules that come with the program. */
export async function shippedReadyRules(): Promise<readonly ReadyRule[]> {
  return readReadyRules(await readFile(readyRulesPath(), "utf8"));
}
