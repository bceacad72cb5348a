import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
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

test("the recipe for a setting works: the row alone brings the flag, the help and config print", (t) => {
  const [, row = ""] = /```ts setting\n([^`]*)```/.exec(page) ?? [];
  assert.match(row, /SVC_EXAMPLE_LIMIT: row\(/);
  // A copy of the built program, with the row where a reader would put it.
  const copy = tempDirectory(t);
  for (const part of ["bin", "dist/src", "scripts/build-program.js", "package.json", "package-lock.json"]) {
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: (from) => !from.endsWith(".map") });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const table = join(copy, "dist/src/app/settings/settings-table.js");
  const text = readFileSync(table, "utf8");
  const first = /(export const settingsTable = \{\n)/.exec(text)?.[1];
  assert.ok(first !== undefined);
  writeFileSync(table, text.replace(first, `${first}${row}`));
  const built = spawnSync(process.execPath, [join(copy, "scripts/build-program.js")], { encoding: "utf8" });
  assert.equal(built.status, 0, built.stderr);
  const run = (...argv: string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(copy, "bin/netgloss.js"), ...argv], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], SVC_EXAMPLE_LIMIT: "7" },
    });
    return stdout + stderr;
  };
  assert.match(run("config", "print"), /^SVC_EXAMPLE_LIMIT: "?7"? {2}# environment$/m);
  assert.match(run("config", "print", "--svc-example-limit", "12"), /^SVC_EXAMPLE_LIMIT: "?12"? {2}# flag/m);
  assert.match(
    run("config", "check", "--svc-example-limit", "1001"),
    /SVC_EXAMPLE_LIMIT must be an integer from 1 to 1000/,
  );
  assert.match(run("serve", "--help"), /--svc-example-limit <value>\s+How many lines an example has\./);
});
