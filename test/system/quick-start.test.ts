// A host of its own: it takes the port of the quick start, and copies the clean tree.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "../support/clean-up.ts";
import { copyTree } from "../support/copied-tree.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const api = "http://127.0.0.1:8080";

test("in a fresh copy of the tree the commands of the README work as they are written", async (t) => {
  if (requireProgram(t, "curl", "apt-get install curl") === undefined) return;
  if (!(await isFree(8080))) {
    t.skip("port 8080 is in use");
    return;
  }
  const directory = tempDirectory(t);
  const copy = join(directory, "netgloss");
  copyTree(copy);
  // What a person sees as an error shall be one here: curl itself calls any answer a success.
  writeFileSync(join(directory, ".curlrc"), "fail-with-body\n");
  const env = { ...process.env, CURL_HOME: directory };
  const blocks = shellBlocks(readFileSync(join(copy, "README.md"), "utf8"));
  assert.deepEqual(blocks.slice(0, 2), ["npm ci && npm start", "npm ci && npm test"], "the two commands come first");

  // A process group of its own, because npm does not pass a signal on to all that it started.
  const child = spawn("bash", ["-c", blocks[0] ?? ""], {
    cwd: copy,
    env: { ...env, NPM_CONFIG_UPDATE_NOTIFIER: "false" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const signalAll = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, signal);
  };
  cleanUp(t, () => signalAll("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const ready = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`ended with exit code ${child.exitCode}:\n${output}`);
    return output.includes("netgloss runs:") && (await fetch(`${api}/readyz`)).ok;
  };
  await until("the quick start is ready", ready, 300_000);
  for (const path of ["var/ipaddrs.yml", "var/flows.ndjson"]) assert.ok(existsSync(join(copy, path)), path);

  const run = async (script: string): Promise<string> => {
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd: copy, env });
    return stdout;
  };
  const tried = blocks.slice(2).filter((block) => /^(?:curl|node bin\/netgloss\.js udm) /.test(block));
  assert.ok(tried.length >= 4, "the README has first steps");
  for (const block of tried) await run(block);
  assert.match(await run(tried[0] ?? ""), /"name":"web-1"/);

  const hints = [...output.matchAll(/^ {2}(curl .*)$/gm)].map((match) => match[1] ?? "");
  assert.ok(hints.length >= 4, output);
  for (const hint of hints) await run(hint);

  signalAll("SIGINT");
  await once(child, "close");
  assert.match(output, /INFO +stopped/);
});

function shellBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```sh\n([\s\S]*?)\n```$/gm)].map((match) => match[1] ?? "");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, "listening").then(
    () => true,
    () => false,
  );
  server.listen(port, "127.0.0.1");
  const free = await listening;
  server.close();
  return free;
}
