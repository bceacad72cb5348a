import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { tempDirectory } from "./support/temp-directory.ts";

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/house.md"), "utf8");

test("every path that docs/house.md names exists", () => {
  const named = [...page.matchAll(/`([\w./-]+\/[\w./-]*)`/g)].map((match) => match[1] ?? "");
  const paths = named.filter((path) => /^(?:src|test|docs|scripts|proto|definitions)\//.test(path));
  assert.ok(paths.length > 50, `${paths.length} paths`);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test("docs/house.md has a row for every room", () => {
  const rows = [...page.matchAll(/^\| `src\/([\w-]+)\/` \|/gm)].map((match) => match[1] ?? "");
  assert.deepEqual(rows.toSorted(), readdirSync(join(root, "src")).toSorted());
});

test("the recipe for a setting works: the row alone brings the flag, the help, its rules and config print", (t) => {
  const [, row = ""] = /```ts setting\n([^`]*)```/.exec(page) ?? [];
  assert.match(row, /SVC_EXAMPLE_LIMIT: row\(/);
  const program = copyProgram(t);
  program.edit("app/settings/settings-table.js", /const logSettings = \{\n/, (first) => first + row);
  program.build();
  const run = (...argv: string[]): string => program.run({ SVC_EXAMPLE_LIMIT: "8" }, argv);
  assert.match(run("config", "print"), /^SVC_EXAMPLE_LIMIT: "?8"? {2}# environment$/m);
  assert.match(run("config", "print", "--svc-example-limit", "12"), /^SVC_EXAMPLE_LIMIT: "?12"? {2}# flag/m);
  assert.match(
    run("config", "check", "--svc-example-limit", "1001"),
    /SVC_EXAMPLE_LIMIT must be an integer from 1 to 1000/,
  );
  assert.match(run("serve", "--help"), /--svc-example-limit <value>\s+How many lines an example has\./);
});

test("the recipe for a field works: the row alone brings its name to filters, and its short name", (t) => {
  const [, row = ""] = /```tsv field\n {3}([^`\n]*)\n {3}```/.exec(page) ?? [];
  assert.match(row, /^flow\tflow\.example\.count\t/);
  const program = copyProgram(t);
  program.addField(row);
  program.build();
  const lines = '{"flow.example.count":7}\n{"flow.example.count":9}\n';
  const run = (filter: string): string => program.run({}, ["filter", filter], lines);
  assert.equal(run("flow.example.count > 8"), '{"flow.example.count":9}\n');
  assert.equal(run("example < 8"), '{"flow.example.count":7}\n');
  assert.match(run("exampel < 8"), /example/);
});

test("the recipe for an output works: a folder and a line bring its settings, its instances and its test", (t) => {
  const recipe = readFileSync(join(root, "docs/adding-an-output.md"), "utf8");
  const blocks = [...recipe.matchAll(/^ {3}```ts output src\/(\S+)\n(.*?)^ {3}```$/gms)];
  assert.equal(blocks.length, 2);
  const program = copyProgram(t);
  for (const [, path = "", indented = ""] of blocks) {
    // The bundler takes the types away.
    program.write(path, indented.replace(/^ {3}/gm, "").replaceAll(/(from "\.\.\/.*)\.ts"/g, '$1.js"'));
  }
  program.edit("output/kinds.js", /^/, () => 'import { example } from "./example/settings.ts";\n');
  program.edit("output/kinds.js", /export const outputKinds = \[/, (first) => `${first} example,`);
  program.build();
  const run = (...argv: string[]): string =>
    program.run({ SVC_OUTPUT_EXAMPLE_LIMIT: "7", SVC_OUTPUT_EXAMPLE__EDGE__LIMIT: "3" }, argv);
  assert.match(run("config", "print"), /^SVC_OUTPUT_EXAMPLE_LIMIT: "?7"? {2}# environment$/m);
  assert.match(run("config", "print"), /^SVC_OUTPUT_EXAMPLE__EDGE__LIMIT: "?3"? {2}# environment$/m);
  assert.match(run("config", "check"), /SVC_OUTPUT_EXAMPLE__EDGE__ENABLE is not set: this output is off/);
  assert.match(
    run("output", "test", "example"),
    /one record was sent and acknowledged\nwarning: an example of 7 records/,
  );
  assert.match(run("output", "test", "example-edge"), /acknowledged\nwarning: an example of 3 records/);
});

/** A copy of the built program, to be changed where a reader would change it. */
function copyProgram(t: TestContext) {
  const copy = tempDirectory(t);
  for (const part of [
    "bin",
    "dist/src",
    "dist/packages",
    "scripts/build-program.js",
    "package.json",
    "package-lock.json",
  ]) {
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: (from) => !from.endsWith(".map") });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const pathOf = (file: string): string => join(copy, "dist/src", file);
  return {
    write(file: string, text: string): void {
      mkdirSync(dirname(pathOf(file)), { recursive: true });
      writeFileSync(pathOf(file), text);
    },
    edit(file: string, place: RegExp, change: (found: string) => string): void {
      const text = readFileSync(pathOf(file), "utf8");
      assert.match(text, place);
      writeFileSync(pathOf(file), text.replace(place, change));
    },
    addField(row: string): void {
      for (const part of ["definitions", "scripts"]) cpSync(join(root, part), join(copy, part), { recursive: true });
      for (const folder of [
        "record/fields",
        "flow/elements/registry",
        "flow/kernel",
        "flow/wire/sflow",
        "app/settings/netobserv",
      ]) {
        mkdirSync(join(copy, "src", folder), { recursive: true });
      }
      appendFileSync(join(copy, "definitions/fields.tsv"), `${row}\n`);
      const script = join(copy, "scripts/generate-definitions.js");
      const { status, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      cpSync(join(copy, "src/record/fields/fields.gen.ts"), pathOf("record/fields/fields.gen.js"));
    },
    build(): void {
      const built = spawnSync(process.execPath, [join(copy, "scripts/build-program.js")], { encoding: "utf8" });
      assert.equal(built.status, 0, built.stderr);
    },
    run(env: Readonly<Record<string, string>>, argv: readonly string[], input = ""): string {
      const { stdout, stderr } = spawnSync(process.execPath, [join(copy, "bin/netgloss.js"), ...argv], {
        encoding: "utf8",
        input,
        env: { PATH: process.env["PATH"], ...env },
      });
      return stdout + stderr;
    },
  };
}
