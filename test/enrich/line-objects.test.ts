import assert from "node:assert/strict";
import { test } from "node:test";
import { enrichedObjects } from "../../src/enrich/address/enriched-object.ts";
import { lineObjects } from "../../src/record/index.ts";

test("objects have the same positions for writers of lines as for the enricher", () => {
  for (const [object, position] of Object.entries(lineObjects)) {
    assert.equal(enrichedObjects[position]?.name, `flow.${object}`);
  }
});
