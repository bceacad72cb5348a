import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/ip/index.ts";
import { packChanges, unpackChanges } from "../../src/udm/pack-changes.ts";
import type { UdmChange } from "../../src/udm/udm-pages.ts";
import { denseKeyText } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

const anyYaml = fc.oneof(
  fc.constant(undefined),
  fc.constant(""),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "grapheme" }).map((text) => new Uint8Array(Buffer.from(text))),
  fc.constantFrom(1000, 2000, 5000).map((times) => "日".repeat(times)),
);

test("changes come out of their bytes as they went in", async () => {
  const anyChange = fc.record({ key: denseKeyText.map((text) => parseKey(text)), yaml: anyYaml });
  await fc.assert(
    fc.asyncProperty(fc.array(anyChange, { maxLength: 250 }), async (changes) => {
      const back = unpackChanges(await packChanges(changes));
      const readable = (all: readonly UdmChange[]): unknown =>
        all.map(({ key, yaml }) => [key, yaml === undefined ? undefined : Buffer.from(yaml).toString()]);
      assert.deepEqual(readable(back), readable(changes));
    }),
    runs(60),
  );
});
