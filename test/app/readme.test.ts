import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

for (const page of ["README.md", "CONTRIBUTING.md"]) {
  test(`${page}: every file that it names is there`, () => {
    const text = read(page);
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1] ?? "");
    const paths = [...text.matchAll(/`((?:src|test|docs|config|scripts|bin|\.ci)\/[\w./-]*)`/g)].map(
      (match) => match[1] ?? "",
    );
    assert.ok(links.length + paths.length > 0);
    const missing = [...links, ...paths].filter((path) => !existsSync(join(root, path)));
    assert.deepEqual(missing, []);
  });

  test(`${page}: every npm script that it names exists`, () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/npm run ([a-z:]+)/g)].map((match) => match[1] ?? "");
    assert.ok(named.length > 0);
    assert.deepEqual(
      named.filter((name) => !(name in scripts)),
      [],
    );
  });
}

test("the first two commands of the README are those of the project", () => {
  const blocks = [...read("README.md").matchAll(/^```sh\n([\s\S]*?)\n```$/gm)].map((match) => match[1]);
  assert.deepEqual(blocks.slice(0, 2), ["npm ci && npm start", "npm ci && npm test"]);
});
