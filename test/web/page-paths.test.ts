import assert from "node:assert/strict";
import { test } from "node:test";
import { deepest as servedDeepest, deepPaths as servedDeep, pagePaths as served } from "../../src/server/web-pages.ts";
import { deepest, deepPath, deepPaths, pagePaths, placeOf } from "../../web/src/navigation/page-paths.ts";

test("the API serves the pages that there are", () => {
  assert.deepEqual(served, [...pagePaths]);
  assert.deepEqual(servedDeep, [...deepPaths]);
  assert.equal(servedDeepest, deepest);
});

test("a path is a page below anything that a proxy puts in front", () => {
  const pageOf = (path: string, base = "/"): unknown => placeOf(path, base).page;
  assert.deepEqual(
    [pageOf("/"), pageOf("/explore"), pageOf("/net/gloss/live", "/net/gloss/"), pageOf("/net/", "/net/")],
    ["", "explore", "live", ""],
  );
  for (const path of ["/other", "/explore/x", "/address", "/address/", "/value/"])
    assert.equal(pageOf(path), undefined);
  assert.deepEqual(placeOf("/address/address/10.1.2.3", "/address/"), { page: "address", rest: ["10.1.2.3"] });
});

test("what a value is comes back out of its path, or it has no path", () => {
  const values = [
    "10.0.0.0/8",
    "2001:db8::1",
    "a b",
    "50%",
    "é/ü",
    "?x#y",
    "..",
    "a//b",
    "/",
    "a/./b",
    "%2F",
    "a/b/c/d/e",
    "a/b/c/d/e/f",
    "\ud800",
    "😀",
  ];
  for (const value of values) {
    const path = deepPath("value", "tag", value);
    if (path === undefined) {
      assert.match(value, /(?:^|\/)\.{0,2}(?:\/|$)|^\ud800$|f$/, value);
      continue;
    }
    const { pathname, search, hash } = new URL(`http://h/net/${path}`);
    assert.deepEqual([search, hash], ["", ""]);
    const { page, rest } = placeOf(pathname, "/net/");
    assert.deepEqual([page, rest[0], rest.slice(1).join("/")], ["value", "tag", value]);
  }
  assert.equal(deepPath("address", "2001:db8::1"), "address/2001:db8::1");
  assert.equal(deepPath("value", "prefix", "10.0.0.0/8"), "value/prefix/10.0.0.0/8");
});
