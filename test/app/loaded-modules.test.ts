import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = join(import.meta.dirname, "../../..");

/** Writes the URL of each module that is loaded to the standard error, behind a mark. */
const hook = `export async function load(url, context, next) {
  if (url.startsWith("file:")) process._rawDebug("loaded " + url);
  return next(url, context);
}`;
const dataUrl = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
const register = `import { register } from "node:module"; register(${JSON.stringify(dataUrl(hook))});`;

/** The modules that a file of the program was joined from: each has a line with its path before it. */
function modulesOf(file: string): readonly string[] {
  if (!file.startsWith("dist/program/")) return [file];
  return Array.from(
    readFileSync(join(root, file), "utf8").matchAll(/^\/\/ (dist\/src\/.+)$/gm),
    ([, path = ""]) => path,
  );
}

/** The modules of the package that a command loads until it has ended, seen from its root; packages by their names. */
async function loadedBy(argv: readonly string[], code = 0): Promise<readonly string[]> {
  const args = ["--import", dataUrl(register), join(root, "bin/netgloss.js"), ...argv];
  const child = spawn(process.execPath, args, { env: { PATH: process.env["PATH"], HOME: "/nowhere" }, stdio: "pipe" });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => void (text += piece));
  child.stdout.resume();
  const ended = await new Promise<number | null>((resolve) => child.on("close", resolve));
  assert.equal(ended, code, text);
  const files = Array.from(text.matchAll(/^loaded (.+)$/gm), ([, url = ""]) => relative(root, fileURLToPath(url)));
  const names = files.map((file) => file.replace(/^.*\bnode_modules\/([^/]+)\/.*$/, "$1"));
  return [...new Set(names.flatMap(modulesOf))].toSorted();
}

const inProgram = (name: string): string => `dist/src/app/${name}.js`;
/** What every start loads. */
const always = [
  "bin/netgloss.js",
  "commander",
  ...["main", "package-root", "settings/settings-source"].map(inProgram),
  ...["command", "program", "terminal"].map((name) => inProgram(`cli/${name}`)),
].toSorted();

test("help and version load the table of commands and nothing of any command", async () => {
  const [help, version] = await Promise.all([loadedBy(["--help"]), loadedBy(["version"])]);
  assert.deepEqual(help, always);
  assert.deepEqual(version, always);
});

test("a command that asks a collector loads its own files and the client: no room, no other command, no settings", async () => {
  const [given, local] = await Promise.all([
    loadedBy(["udm", "get", "192.0.2.1", "--url", "http://127.0.0.1:9"], 6),
    loadedBy(["udm", "explain", "--help"]),
  ]);
  const commands = new Set(["udm-command", "read-commands", "explain-command"]);
  for (const file of [...given, ...local]) {
    if (always.includes(file)) continue;
    assert.match(file, /^dist\/src\/app\/(?:cli|settings\/(?:default-api|settings-source)\.js$)/);
    const [, command] = /\/([\w-]+-commands?)\.js$/.exec(file) ?? [];
    assert.ok(command === undefined || commands.has(command), file);
  }
  assert.ok(given.includes(inProgram("cli/client/api-call")));
  assert.ok(!given.includes(inProgram("cli/udm/explain-command")));
});

test("only a command that has settings loads their table, and no more rooms than it takes", async () => {
  const files = await loadedBy(["config", "print"]);
  for (const file of files) {
    if (!file.startsWith("dist/src/") || /^dist\/src\/(?:app|base)\//.test(file)) continue;
    assert.match(file, /\/(?:kinds|output-kind|compress|role|(?:[a-z]+-)?settings)\.js$/);
  }
  assert.ok(files.includes(inProgram("settings/settings-table")));
  assert.ok(!files.some((file) => file.includes("/cli/udm/")));
});

test("serve --help loads the table of settings, and neither what reads settings nor what serves", async () => {
  const files = await loadedBy(["serve", "--help"]);
  const isOfTable = /^dist\/src\/base\/|\/(?:kinds|output-kind|role|(?:[a-z]+-)?settings)\.js$/;
  const own = ["cli/serve-command", "cli/settings-options", "settings/foreign-file", "settings/settings-table"];
  assert.deepEqual(
    files.filter((file) => !isOfTable.test(file)),
    [...always, ...own.map(inProgram)].toSorted(),
  );
});

test("what a thread runs is in the file of its entry alone: no command that shares parts with it starts its work", () => {
  const program = join(root, "dist/program");
  const threads = ["receive-thread", "decode-thread", "output-thread", "explore-thread", "watch-thread"].map((name) =>
    inProgram(`threads/${name}`),
  );
  const files = readdirSync(program).map((file) => ({ file, text: readFileSync(join(program, file), "utf8") }));
  for (const module of [...threads, inProgram("threads/udm-file-thread"), inProgram("select-process")]) {
    const name = basename(module, ".js");
    const holders = files.filter(({ file }) => modulesOf(`dist/program/${file}`).includes(module));
    assert.deepEqual(
      holders.map(({ file }) => file),
      [`${name}.js`],
    );
    // What a thread loads later may import its entry, which runs already. Files of one name have numbers.
    const others = files.filter(({ file }) => !new RegExp(`^${name}\\d*\\.`).test(file));
    const importing = others.filter(({ text }) => new RegExp(`(?:from|import) ?\\(?"\\./${name}\\.js"`).test(text));
    assert.deepEqual(
      importing.map(({ file }) => file),
      [],
    );
  }
  // It loads its adapter before it has run: a part of it that imported it would wait for it for ever.
  const parts = files.filter(({ file }) => /^output-thread\d*\../.test(file) && file !== "output-thread.js");
  assert.ok(parts.some(({ file }) => file.includes("kafka-client")));
  for (const { file, text } of parts) assert.doesNotMatch(text, /"\.\/output-thread\.js"/, file);
});
