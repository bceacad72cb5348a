// Pages of docs/ that are tutorials, run as they are written: their blocks of `shell`, each in a shell of its own, in one directory.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { cleanUp } from "./clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "./collector-process.ts";
import { commandsOf } from "./page-commands.ts";
import { tempDirectory } from "./temp-directory.ts";
import { until } from "./until.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);

/**
 * Runs a tutorial in order. What `netgloss serve` starts goes on in the background, with ports that the system chooses; the
 * comment `the flow of first-flow.md` sends that flow. The last block is run until it prints what `shows` says.
 *
 * @param choices headings of the third level whose blocks are run; those of other ones are left out
 * @param replacements hosts, users and paths of the page, and what they are here; each must be of use
 */
export async function runTutorial(
  t: TestContext,
  page: string,
  choices: readonly string[],
  shows: RegExp,
  replacements: Readonly<Record<string, string>> = {},
): Promise<void> {
  const directory = tempDirectory(t);
  symlinkSync(join(root, "bin/netgloss.js"), join(directory, "netgloss"));
  const blocks = blocksOf(page, choices, replacements);
  const collectors: CollectorProcess[] = [];
  const runBlock = async (block: string): Promise<string> => {
    const [first, second] = collectors;
    const text = block
      .replaceAll("127.0.0.1:8080", () => hostOf(first))
      .replaceAll("127.0.0.1:8081", () => hostOf(second));
    const env = {
      ...process.env,
      PATH: [directory, process.env["PATH"]].join(delimiter),
      SVC_API_PORT: first === undefined ? "0" : new URL(first.api).port,
      ...(first === undefined && { SVC_FLOW_SERVER_UDP_PORT: "0" }),
    };
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", text], { cwd: directory, env });
    return stdout;
  };
  let flows = 0;
  for (const block of blocks.slice(0, -1)) {
    const starts = Array.from(block.matchAll(/^netgloss serve (.+)$/gm), ([, args = ""]) => args.split(" "));
    if (block === sentFlow) {
      await runBlock(firstFlow.replace("2055", String(collectors[0]?.flowPort)));
      flows++;
    } else if (starts.length === 0) await runBlock(block);
    for (const args of starts) {
      const collector = await startCollectorProcess({ cwd: directory, args });
      cleanUp(t, () => collector.end("SIGKILL"));
      collectors.push(collector);
    }
  }
  assert.ok(collectors.length > 0 && flows === 1, `${page} starts a collector and sends a flow`);
  let last = "";
  await until(`${page} shows what it is to show`, async () => {
    last = await runBlock(blocks.at(-1) ?? "").catch((error: unknown) => String(error));
    if (shows.test(last)) return true;
    await sleep(300);
    return false;
  }).catch(() => assert.fail(`the last block of ${page} said ${last}`));
}

const sentFlow = "<!-- the flow of first-flow.md -->";
const firstFlow = (
  commandsOf("docs/first-flow.md").find(({ text }) => text.includes("createSocket"))?.text ?? ""
).replace(/^tail .*$/m, "");

const hostOf = (collector: CollectorProcess | undefined): string => new URL(collector?.api ?? "").host;

function blocksOf(page: string, choices: readonly string[], replacements: Readonly<Record<string, string>>): string[] {
  let text = readFileSync(join(root, page), "utf8");
  for (const [from, to] of Object.entries(replacements)) {
    assert.ok(text.includes(from), `${page} has ${from}`);
    text = text.replaceAll(from, () => to);
  }
  for (const choice of choices) assert.ok(text.includes(`\n### ${choice}\n`), `${page} has ${choice}`);
  const parts = text.split(/^(?=##+ )/m);
  const chosen = parts.filter(
    (part) => !part.startsWith("### ") || choices.some((one) => part.startsWith(`### ${one}\n`)),
  );
  const pattern = new RegExp(`^\`\`\`shell\\n([^]*?)^\`\`\`$|^${sentFlow}$`, "gm");
  return chosen.flatMap((part) => Array.from(part.matchAll(pattern), ([all, block]) => block ?? all));
}
