// On which line of the file an entry begins: against a search in the text, whoever wrote it.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { startUdmFileThread } from "../../src/app/index.ts";
import { nodeFileIo, type FileIo } from "../../src/base/file/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import type { CollectorUdmStore, UdmFileStoreOptions } from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn } from "../support/udm-store-fixture.ts";

/** The lines by key, of a text in which each key begins a line. */
function linesIn(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const [i, line] of text.split("\n").entries()) {
    const [, quoted, plain] = /^(?:["'](.*?)["']|([\d.a-fA-F:/-]+?))\s*:(?:\s|$)/.exec(line) ?? [];
    const key = quoted ?? plain;
    if (key !== undefined) lines.set(parseKey(key).text, i + 1);
  }
  return lines;
}

async function assertLines(store: CollectorUdmStore, io: FileIo, path: string): Promise<void> {
  const expected = linesIn((await io.read(path)).toString());
  const keys = Array.from(store.current().entries(), ({ key }) => key);
  assert.equal(keys.length, expected.size);
  const found = await store.places.linesOf([...keys, parseKey("192.0.2.77")]);
  assert.deepEqual(found, [...keys.map(({ text }) => expected.get(text)), undefined]);
}

const write = fc.record({ key: denseKeyText, name: fc.constantFrom("", "a"), tags: fc.subarray(["x", "y", "z"]) });
const groups = fc.array(fc.array(write, { minLength: 1, maxLength: 40 }), { maxLength: 4 });

async function putAll(store: CollectorUdmStore, writes: readonly { key: string; name: string; tags: string[] }[]) {
  await store.submit(
    writes.map(({ key, name, tags }) => ({
      op: "edit",
      key: parseKey(key),
      edit: (found) => ({
        // What is there and gets no name goes.
        entry: found !== undefined && name === "" ? undefined : udmEntry(key, { name, tags }),
      }),
    })),
  );
}

suite("lines of entries", { concurrency: true }, () => {
  test("are right after each of random writes", async () => {
    const property = fc.asyncProperty(groups, async (all) => {
      const io = memoryFileIo();
      const { store } = storeOn(io);
      await store.start();
      for (const writes of all) {
        await putAll(store, writes);
        await assertLines(store, io, memoryPath);
      }
      await store.stop();
    });
    await fc.assert(property, runs(20));
  });

  const byHand: Readonly<Record<string, string>> = {
    "with comments, quotes and blank lines":
      "---\n# plan\n\n10.0.0.0/8: {name: a}\n'10.0.0.1':\n\n  # two\n  name: b\n\"2001:DB8::1\" : {}\n2001:db8::/32:\n  name: c\n",
    "with CRLF": "10.0.0.1:\r\n  name: a\r\n\r\n10.0.0.2: {}\r\n",
    "without a last line feed": "10.0.0.2: {}\n10.0.0.1: {name: x}",
    "in flow style": '{"10.0.0.1": {name: a},\n "10.0.0.2": {},\n\n "::1": {}}\n',
    "with an anchor": "10.0.0.1: &a\n  name: a\n10.0.0.2: *a\n",
    "with explicit keys": "? 10.0.0.1\n: {name: a}\n? 10.0.0.2\n: {}\n",
  };
  const byLibrary: Readonly<Record<string, readonly (number | undefined)[]>> = {
    "in flow style": [1, 2, 4],
    "with explicit keys": [1, 3],
  };
  for (const [what, text] of Object.entries(byHand)) {
    for (const isThreaded of what === "with comments, quotes and blank lines" ? [false, true] : [false]) {
      test(`of a file by hand ${what}${isThreaded ? ", in the thread" : ""}`, async (t) => {
        const path = join(tempDirectory(t), "ipaddrs.yml");
        await writeFile(path, text);
        const options: Partial<UdmFileStoreOptions> = isThreaded
          ? { startThread: startUdmFileThread, threadBytes: 0 }
          : {};
        const { store } = storeOn(nodeFileIo, { path, ...options });
        await store.start();
        const keys = Array.from(store.current().entries(), ({ key }) => key);
        const expected = byLibrary[what];
        if (expected === undefined) await assertLines(store, nodeFileIo, path);
        else assert.deepEqual(await store.places.linesOf(keys), expected);
        await putAll(store, [{ key: "10.0.0.3", name: "new", tags: ["x"] }]);
        await assertLines(store, nodeFileIo, path);
        await writeFile(path, `# edited\n${text}`);
        assert.deepEqual(new Set(await store.places.linesOf(keys)), new Set([undefined]));
        await store.stop();
      });
    }
  }
});
