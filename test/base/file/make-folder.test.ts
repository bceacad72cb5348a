import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, makeFolderSync } from "../../../src/base/file/index.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const kinds = { makeFolder, makeFolderSync: async (path: string): Promise<void> => makeFolderSync(path) };

for (const [name, make] of Object.entries(kinds)) {
  test(`${name} makes the folders above, takes one that is there, and fails where none can be made`, async (t) => {
    const directory = tempDirectory(t);
    const path = join(directory, "a/b/c");
    await make(path);
    await make(path);
    assert.ok(statSync(path).isDirectory());
    writeFileSync(join(directory, "file"), "");
    await assert.rejects(make(join(directory, "file")), { code: "EEXIST" });
    await assert.rejects(make(join(directory, "file/below")), { code: "ENOTDIR" });
    await assert.rejects(make("/proc/netgloss/below"));
  });
}

test("makeFolder makes a folder for several at a time", async (t) => {
  const path = join(tempDirectory(t), "a/b/c");
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(path)));
  assert.ok(statSync(path).isDirectory());
});
