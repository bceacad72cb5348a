import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandsPage, createProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";

const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/commands.md"), "utf8");

test("docs/commands.md is what `npm run generate` writes", async () => {
  const program = await createProgram(createFakeTerminal([]), () => {});
  assert.equal(page, commandsPage(program));
});

test("every command with a help text is in the page, with its options", () => {
  const folder = join(root, "test/app/golden/help");
  const titles = Array.from(page.matchAll(/^## (.+)$/gm), ([, name = ""]) => name.replaceAll(" ", "-"));
  const headings = new Set(titles);
  const isGroup = (name: string, all: readonly string[]): boolean => all.some((one) => one.startsWith(`${name}-`));
  const golden = readdirSync(folder).map((name) => name.replace(".txt", ""));
  const commands = golden.filter((name) => name !== "netgloss" && !isGroup(name, golden) && name !== "config");
  assert.ok(commands.length > 30);
  for (const name of [...commands, "serve", "config-check", "config-print"]) assert.ok(headings.has(name), name);
  assert.match(page, /^## udm set\n\n`netgloss udm set \[options\] <key>`\n/m);
  assert.match(page, /^\| `--clear <field>` \| Clear this field before /m);
});
