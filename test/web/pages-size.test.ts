import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

const built = resolve(import.meta.dirname, "../../pages");
const files = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".gz"));

test("all pages together are smaller than 150 KB, compressed", () => {
  const bytes = files.reduce((sum, path) => sum + statSync(join(built, path)).size, 0);
  assert.ok(bytes < 150_000, `${String(bytes)} bytes`);
});

test("nothing stands inline, and nothing comes from elsewhere", () => {
  const document = gunzipSync(readFileSync(join(built, "index.html.gz"))).toString("utf8");
  assert.doesNotMatch(document, /<script(?![^>]* src=)|<style|style=|\son\w+=/);
  for (const path of files) {
    const text = gunzipSync(readFileSync(join(built, path))).toString("utf8");
    // Names of namespaces are no requests.
    const addresses = text.match(/https?:\/\/(?!www\.w3\.org)[\w.-]+\.[a-z]{2,}/g) ?? [];
    assert.deepEqual(addresses, [], path);
  }
});
