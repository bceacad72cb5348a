import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

const built = resolve(import.meta.dirname, "../../pages");
const files = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".gz"));

const textOf = (path: string): string => gunzipSync(readFileSync(join(built, path))).toString("utf8");
const bytesOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + statSync(join(built, path)).size, 0);

test("all pages together are smaller than 170 kB, compressed", () => {
  const bytes = bytesOf(files);
  assert.ok(bytes < 170_000, `${String(bytes)} bytes`);
});

test("a page that is opened first is smaller than 130 kB, compressed, with all that it loads", () => {
  const document = textOf("index.html.gz");
  const begun = [...document.matchAll(/assets\/[\w.-]+/g)].map(([path]) => `${path}.gz`);
  const script = textOf(begun.find((path) => path.endsWith(".js.gz")) ?? "");
  // The entry names what each page loads: a list of all files, and the numbers of those of a page.
  const listed = [...(/m\.f=\[([^\]]*)\]/.exec(script)?.[1] ?? "").matchAll(/"\.\/([^"]+)"/g)].map(([, name]) => name);
  const pages = [...script.matchAll(/import\(`\.\/([\w-]+)-page-[\w-]+\.js`\),__vite__mapDeps\(\[([\d,]+)\]\)/g)];
  assert.ok(pages.some(([, page]) => page === "overview"));
  for (const [, page = "", numbers = ""] of pages) {
    const loaded = numbers.split(",").map((number) => `assets/${listed[Number(number)] ?? ""}.gz`);
    const bytes = bytesOf(["index.html.gz", ...new Set([...begun, ...loaded])]);
    assert.ok(bytes < 130_000, `${page}: ${String(bytes)} bytes`);
  }
});

test("nothing stands inline, and nothing comes from elsewhere", () => {
  const document = textOf("index.html.gz");
  assert.doesNotMatch(document, /<script(?![^>]* src=)|<style|style=|\son\w+=/);
  for (const path of files) {
    const text = textOf(path);
    // Names of namespaces are no requests.
    const addresses = text.match(/https?:\/\/(?!www\.w3\.org)[\w.-]+\.[a-z]{2,}/g) ?? [];
    assert.deepEqual(addresses, [], path);
  }
});
