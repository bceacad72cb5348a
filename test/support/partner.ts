import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUp, type Owner } from "./clean-up.ts";

/** What a partner says of itself: where it is reached, and with which user. */
export type Partner = Readonly<Record<string, string | number>>;

/**
 * Starts a real server of test/partners, which is installed from the package registries at the first time. It ends with the
 * test. A server that cannot be had is a failure.
 */
export async function startPartner(
  t: Owner,
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Partner> {
  const script = join(import.meta.dirname, "../../../test/partners", `${name}.sh`);
  const child = spawn(script, { env: { ...process.env, PARTNER_PARENT: String(process.pid), ...env } });
  let said = "";
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const exited = once(child, "exit");
  cleanUp(t, async () => {
    child.kill("SIGTERM");
    await exited;
  });
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.endsWith("\n")) resolve(JSON.parse(said) as Partner);
    });
    child.on("exit", (code) => reject(new Error(`${name}.sh ended with ${String(code)}: ${log}`)));
    child.on("error", reject);
  });
}

/** Kills a server that its script starts again with its data. */
export function killPartner(partner: Partner): void {
  process.kill(-Number(readFileSync(join(String(partner["dir"]), "server.pid"), "utf8")), "SIGKILL");
}
