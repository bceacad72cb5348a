// The commands of the pages that users read, run as they are written against what `npm start` starts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "./clean-up.ts";
import { startCollectorProcess } from "./collector-process.ts";
import { tempDirectory } from "./temp-directory.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** A block of shell commands of a page. */
export interface PageCommand {
  readonly page: string;
  readonly line: number;
  readonly text: string;
  /** The block of JSON or text that follows it: what it prints. */
  readonly prints?: { readonly language: string; readonly text: string };
  /** Why it is not run: the comment `no test of its page: …` before the block. */
  readonly untested?: string;
}

/** README.md and the pages of docs/ that have commands to run. */
export function pagesWithCommands(): string[] {
  const names = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = ["README.md", ...names.map((name) => `docs/${name}`)];
  const hasCommands = (page: string): boolean => commandsOf(page).some(({ untested }) => untested === undefined);
  return pages.filter((page) => page.endsWith(".md") && hasCommands(page));
}

export function commandsOf(page: string): PageCommand[] {
  const text = readFileSync(join(root, page), "utf8");
  const pattern = /^(?:<!-- no test of its page: (.+) -->\n)?```sh\n([^]*?)^```\n(?:```(json|text)\n([^]*?)^```\n)?/gm;
  return Array.from(text.matchAll(pattern), (match) => {
    const [, untested, command = "", language, printed] = match;
    return {
      page,
      line: text.slice(0, match.index).split("\n").length,
      text: command,
      ...(language !== undefined && printed !== undefined && { prints: { language, text: printed } }),
      ...(untested !== undefined && { untested }),
    };
  });
}

/** Starts a collector as `npm start` does, in a directory of its own, and runs the commands of a page in order. */
export async function runPage(
  t: TestContext,
  page: string,
  {
    standIns,
    threads = "auto",
    isLeftOut,
  }: {
    readonly standIns: boolean;
    /** Which threads decode: commands of pages do not show it. */
    readonly threads?: "auto" | "main";
    readonly isLeftOut: (command: PageCommand) => boolean;
  },
): Promise<number> {
  const directory = tempDirectory(t);
  for (const name of ["bin", "config", "dist", "node_modules", "package.json", "definitions"]) {
    symlinkSync(join(root, name), join(directory, name));
  }
  symlinkSync(join(root, "bin/netgloss.js"), join(directory, "netgloss"));
  // What a person sees as an error shall be one here: curl itself calls any answer a success.
  writeFileSync(join(directory, ".curlrc"), "fail-with-body\n");
  if (standIns) {
    writeFileSync(join(directory, "grpcurl"), grpcurlStandIn);
    chmodSync(join(directory, "grpcurl"), 0o755);
  }
  const collector = await startCollectorProcess({
    settings: { SVC_PROCESSOR_POOL_SIZE: threads },
    cwd: directory,
    args: ["--config", "config/quickstart.yml"],
  });
  cleanUp(t, () => collector.end());
  const { host, port } = new URL(collector.api);
  const env = {
    ...process.env,
    CURL_HOME: directory,
    SVC_API_PORT: port,
    PATH: [directory, process.env["PATH"]].join(delimiter),
  };
  let count = 0;
  for (const command of commandsOf(page)) {
    if (command.untested !== undefined || isLeftOut(command)) continue;
    const text = command.text.replaceAll("127.0.0.1:8080", host).replaceAll("localhost:8080", `localhost:${port}`);
    const { stdout } = await run("sh", ["-euc", text], { cwd: directory, env }).catch((error: unknown) => {
      const { stdout: said = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`${page}:${command.line} failed: ${command.text}${said}${stderr}`);
    });
    const where = `${page}:${command.line}`;
    if (command.prints?.language === "json") {
      assert.deepEqual(JSON.parse(stdout), JSON.parse(command.prints.text), where);
    } else if (command.prints !== undefined) assert.equal(stdout, command.prints.text, where);
    count++;
  }
  return count;
}

/** Does what a page asks of grpcurl, by JSON, where the real one is not at hand. */
const grpcurlStandIn = `#!${process.execPath}
const args = process.argv.slice(2).filter((one) => one !== "-plaintext");
const body = args[0] === "-d" ? args.splice(0, 2)[1] : "{}";
const [host, method] = args;
const headers = { "content-type": "application/json" };
const answer = await fetch(\`http://\${host}/\${method}\`, { method: "POST", headers, body });
console.log(await answer.text());
if (!answer.ok) process.exitCode = 1;
`;
