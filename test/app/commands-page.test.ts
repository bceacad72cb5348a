import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandsPage, createProgram, manualPage, runProgram } from "../../src/app/index.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";

const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/reference/commands.md"), "utf8");

test("docs/reference/commands.md is what `npm run generate` writes", async () => {
  const program = await createProgram(createFakeTerminal([]), () => {});
  assert.equal(page, commandsPage(program));
});

test("the manual page is what `npm run generate` writes, and has every command and its options", async () => {
  const program = await createProgram(createFakeTerminal([]), () => {});
  const manual = readFileSync(join(root, "docs/netgloss.1"), "utf8");
  assert.equal(manual, manualPage(program));
  const signs: Readonly<Record<string, string>> = { "-": "-", e: "\\", "(aq": "'", "(ga": "`", "(ha": "^", "(ti": "~" };
  const plain = manual.replaceAll(/\\(-|e|\(..)/g, (_, name: string) => signs[name] ?? assert.fail(name));
  // Others are printed as signs that a shell does not take.
  assert.doesNotMatch(manual.replace(/^.*\n/, ""), /['`^~]/);
  const names = [...page.matchAll(/^## (.+)$/gm)].map(([, name = ""]) => name).slice(2);
  assert.ok(names.length > 50);
  for (const name of names) assert.match(plain, new RegExp(`^\\.SS netgloss ${name}( |$)`, "m"));
  for (const option of ["--profile <name>", "-o, --output <format>", "--max-deletes"])
    assert.ok(plain.includes(option), option);
  // A line that begins so is a request to roff: only those of the page itself.
  for (const [, request = ""] of manual.matchAll(/^[.'](\S*)/gm))
    assert.match(request, /^(?:\\"|TH|SH|SS|TP|PP|B|BI|I|RI)$/);
});

const [, ofClients = ""] = /^## Options of commands that ask a collector\n\n```text\n([^]*?)^```/m.exec(page) ?? [];

/** Blank runs as one, so that neither widths of columns nor ends of lines count. */
const inOneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The help of a command as the page has it, with the options that the page has elsewhere. */
function helpInPage(name: string): string {
  const [, text = ""] =
    new RegExp(`^## ${name === "" ? "netgloss" : name}\n\n\`\`\`text\n([^]*?)^\`\`\`$`, "m").exec(page) ?? [];
  return inOneLine(text);
}

test("the help of every command is in the page, word for word", async () => {
  const client = optionsOf(ofClients);
  assert.ok(client.length > 6);
  let count = 0;
  const look = async (words: readonly string[]): Promise<void> => {
    const terminal = createFakeTerminal([...words, "--help"]);
    assert.equal(await runProgram(terminal), 0, words.join(" "));
    const help = terminal.written.out;
    const isSetting = (block: string): boolean => /^ {2}--svc-/m.test(block);
    let whole = inOneLine(
      help
        .split("\n\n")
        .filter((block) => !isSetting(block))
        .join("\n\n"),
    );
    const shown = helpInPage(words.join(" "));
    // The page says once what all commands have that ask a collector.
    for (const option of optionsOf(help)) {
      if (client.includes(option) && !shown.includes(option)) whole = whole.replace(` ${option}`, "");
    }
    assert.equal(shown, whole, words.join(" "));
    count++;
    for (const name of namesOf(help)) await look([...words, name]);
  };
  await look([]);
  assert.ok(count > 60);
});

/** The options of a help text, each in one line with its description. */
function optionsOf(help: string): string[] {
  const block = help.split("\n\n").find((one) => one.startsWith("Options:")) ?? "";
  return block
    .replace("Options:\n", "")
    .split(/^ {2}(?=-)/m)
    .map(inOneLine)
    .filter((option) => option !== "");
}

/** The commands below, which a help text names. */
function namesOf(help: string): string[] {
  const blocks = help.split("\n\n").filter((block) => !/^(?:Usage|Arguments|Options):/.test(block));
  const names = blocks.flatMap((block) => [...block.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name ?? ""));
  return names.filter((name) => name !== "help");
}
