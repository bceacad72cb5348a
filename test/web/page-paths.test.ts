import assert from "node:assert/strict";
import { test } from "node:test";
import { pagePaths as served } from "../../src/server/web-pages.ts";
import { baseOf, pageOf, pagePaths } from "../../web/src/navigation/page-paths.ts";

test("the API serves the pages that there are", () => {
  assert.deepEqual(served, [...pagePaths]);
});

test("a path is a page below anything that a proxy puts in front", () => {
  assert.deepEqual(
    [pageOf("/"), pageOf("/explore"), pageOf("/net/gloss/live"), pageOf("/net/")],
    ["", "explore", "live", ""],
  );
  assert.equal(pageOf("/other"), undefined);
  assert.deepEqual([baseOf("/"), baseOf("/explore"), baseOf("/net/gloss/live")], ["/", "/", "/net/gloss/"]);
});
