import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import { ChangeLog, readChanges } from "../../src/metadata/store/udm-pages.ts";
import { runs } from "../support/runs.ts";
import { denseKeyText } from "../support/udm-entry.ts";

const anyYaml = fc.oneof(
  fc.constant(undefined),
  fc.constant(""),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(1000, 2000, 5000).map((times) => "日".repeat(times)),
);

test("changes come out of a log as they went in", () => {
  const anyChange = fc.record({ key: denseKeyText.map((text) => parseKey(text)), yaml: anyYaml });
  fc.assert(
    fc.property(fc.array(anyChange, { maxLength: 50 }), (changes) => {
      const log = new ChangeLog();
      for (const { key, yaml } of changes) log.add(key, yaml);
      assert.equal(log.isEmpty, changes.length === 0);
      const back = readChanges(log.take());
      assert.deepEqual(
        back.map(({ key, yaml }) => [key, yaml && Buffer.from(yaml).toString()]),
        changes.map(({ key, yaml }) => [key, yaml]),
      );
    }),
    runs(60),
  );
});

test("what is cut off a log is not in it", () => {
  const log = new ChangeLog();
  const add = (text: string): void => log.add(parseKey(text), `${text}: {}\n`);
  add("10.0.0.1");
  const { length } = log;
  add("10.0.0.2");
  log.cut(length);
  add("10.0.0.3");
  assert.deepEqual(
    readChanges(log.take()).map(({ key }) => key.text),
    ["10.0.0.1", "10.0.0.3"],
  );
  const empty = new ChangeLog();
  empty.add(parseKey("::"), undefined);
  empty.cut(0);
  assert.ok(empty.isEmpty);
});
