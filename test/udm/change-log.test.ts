import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/ip/index.ts";
import { createChangeLog, readChanges } from "../../src/udm/store/change-log.ts";
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
      const log = createChangeLog();
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
