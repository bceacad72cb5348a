import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";

const folder = join(import.meta.dirname, "../../../test/app/golden/help");
/** Their help has every setting, which docs/reference/settings.md shows. */
const leftOut: ReadonlySet<string> = new Set(["serve", "config check", "config print"]);

async function help(words: readonly string[]): Promise<string> {
  const terminal = createFakeTerminal([...words, "--help"]);
  assert.equal(await runProgram(terminal), 0, words.join(" "));
  return terminal.written.out;
}

/** The help of a command and of all below it, which it names. */
async function allHelp(words: readonly string[] = []): Promise<[name: string, text: string][]> {
  const text = await help(words);
  const blocks = text.split("\n\n").filter((block) => !/^(?:Usage|Arguments|Options):/.test(block));
  const names = blocks.flatMap((block) => [...block.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name ?? ""));
  const below = names
    .map((name) => words.concat(name))
    .filter((path) => path.at(-1) !== "help" && !leftOut.has(path.join(" ")));
  const deeper = await Promise.all(below.map((path) => allHelp(path)));
  return [[words.join("-"), text] as [string, string]].concat(deeper.flat());
}

test("the help of every command is as it was; UPDATE_GOLDEN=1 takes what it is now", async () => {
  const all = await allHelp();
  assert.ok(all.some(([name]) => name === "udm-apply"));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of all) {
    const path = join(folder, `${name === "" ? "netgloss" : name}.txt`);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
    assert.ok(existsSync(path), `${path} is missing: run with UPDATE_GOLDEN=1`);
    assert.equal(text, readFileSync(path, "utf8"), name);
  }
});
