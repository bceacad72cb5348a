import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { cleanUp, type Owner } from "./support/clean-up.ts";
import { tempDirectory } from "./support/temp-directory.ts";

function createOwner(): Owner & { end(): Promise<void> } {
  const hooks: (() => unknown)[] = [];
  return {
    after: (hook) => void hooks.push(hook),
    async end() {
      for (const hook of hooks) await hook();
    },
  };
}

test("clean-ups run in reverse order, also those asked for meanwhile, and each although another one throws", async () => {
  const owner = createOwner();
  const done: string[] = [];
  const add = (name: string, error?: Error): void =>
    cleanUp(owner, async () => {
      await Promise.resolve();
      done.push(name);
      if (error !== undefined) throw error;
    });
  add("directory");
  add("store", new Error("the store"));
  cleanUp(owner, () => add("late"));
  await assert.rejects(owner.end(), /^Error: the store$/);
  assert.deepEqual(done, ["late", "store", "directory"]);
});

test("two that throw are both named", async () => {
  const owner = createOwner();
  cleanUp(owner, () => assert.fail("one"));
  cleanUp(owner, () => assert.fail("other"));
  await assert.rejects(owner.end(), { name: "AggregateError", message: /other.*one/s });
});

test("a test that fails while a writer is at work stops the writer, then removes its directory", (t) => {
  const folder = tempDirectory(t);
  const support = (name: string): string => pathToFileURL(join(import.meta.dirname, `support/${name}.js`)).href;
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  writeFileSync(
    join(folder, "failing.js"),
    `import { test } from "node:test";
import { writeFileSync } from "node:fs";
import { cleanUp } from ${JSON.stringify(support("clean-up"))};
import { tempDirectory } from ${JSON.stringify(support("temp-directory"))};
test("fails half-way", (t) => {
  const directory = tempDirectory(t);
  let n = 0;
  const timer = setInterval(() => writeFileSync(directory + "/" + n++, ""), 1);
  cleanUp(t, () => clearInterval(timer));
  throw new Error("half-way");
});
`,
  );
  const temp = tempDirectory(t);
  const { stdout, status } = spawnSync(process.execPath, ["--test-reporter=tap", join(folder, "failing.js")], {
    encoding: "utf8",
    env: { TMPDIR: temp },
    timeout: 30_000,
  });
  assert.match(stdout, /error: 'half-way'/);
  assert.equal(status, 1);
  assert.deepEqual(readdirSync(temp), []);
});

test("tests clean up by this way only", () => {
  const root = resolve(import.meta.dirname, "../../test");
  const others = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && path !== join("support", "clean-up.ts"))
    .filter((path) =>
      /\b(?:t|test)\.after\(|import \{[^}]*\bafter\b[^}]*\} from "node:test"/.test(
        readFileSync(join(root, path), "utf8"),
      ),
    )
    .filter((path) => path !== "clean-up.test.ts");
  assert.deepEqual(others, []);
});
