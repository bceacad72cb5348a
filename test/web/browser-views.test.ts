import assert from "node:assert/strict";
import { test } from "node:test";
import { browserViewsOf } from "../../web/src/format/browser-views.ts";

test("views that a browser kept are read as they were written; what is none is left out", () => {
  const one = { name: "night", query: "?filter=src.port+%3D+53&by=flow.src.ip.addr&limit=20&from=yesterday" };
  assert.deepEqual(browserViewsOf(JSON.stringify([one, null, 1, "x", { name: " ", query: "" }, { name: "a" }])), [one]);
  for (const text of [null, "", "{", "{}", "null", '"x"']) assert.deepEqual(browserViewsOf(text), []);
});
