import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { tempDirectory } from "../support/temp-directory.ts";
import { startApi } from "./api-fixture.ts";
import { exchange } from "./raw-http.ts";

const script = "export const x = 1;\n".repeat(5000);

function builtPages(t: TestContext): string {
  const folder = tempDirectory(t);
  mkdirSync(join(folder, "assets"));
  writeFileSync(
    join(folder, "index.html.gz"),
    gzipSync('<!doctype html><title>netgloss</title><script src="./assets/index-Ab12.js">'),
  );
  writeFileSync(join(folder, "assets/index-Ab12.js.gz"), gzipSync(script));
  writeFileSync(join(folder, "secret.txt"), "not compressed, not served");
  return folder;
}

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("at / a browser gets the pages, a program a list of paths", async (t) => {
  const { url } = await startApi(t, { pagesFolder: builtPages(t) });
  const page = await fetch(url, { headers: html });
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(await page.text(), /netgloss/);
  for (const accept of ["application/json", "*/*"]) {
    const list = await fetch(url, { headers: { accept } });
    assert.equal(list.headers.get("content-type"), "application/json");
    assert.match(list.headers.get("vary") ?? "", /accept/);
    const { endpoints } = (await list.json()) as { endpoints: Record<string, string> };
    assert.equal(endpoints["GET /livez"], "Whether the process runs");
  }
});

test("each page has its address, and what is no page is not found", async (t) => {
  const { url } = await startApi(t, { pagesFolder: builtPages(t) });
  for (const path of ["explore", "explain?q=10.0.0.1", "live", "settings"]) {
    const page = await fetch(`${url}/${path}`, { headers: html });
    assert.equal(page.status, 200, path);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(page.headers.get("x-content-type-options"), "nosniff");
    assert.equal(page.headers.get("cache-control"), "no-cache");
  }
  for (const path of ["explore/x", "assets/", "secret.txt", "assets/index-Ab12.js.gz", "index.html"]) {
    assert.equal((await fetch(`${url}/${path}`, { headers: html })).status, 404, path);
  }
  assert.equal((await fetch(`${url}/explore`, { method: "POST" })).status, 405);
});

test("the page of a thing has a path that goes on, and its document finds its files above", async (t) => {
  const { url } = await startApi(t, { pagesFolder: builtPages(t) });
  const tags = new Set<string | null>();
  for (const path of ["address/10.0.0.1", "address/2001:db8::1", "value/tag/pci", "value/prefix/10.0.0.0/8"]) {
    const at = `${url}/${path}`;
    const page = await fetch(at, { headers: html });
    assert.equal(page.status, 200, path);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    const [, source = ""] = /src="([^"]+)"/.exec(await page.text()) ?? [];
    assert.equal(new URL(source, at).pathname, "/assets/index-Ab12.js", path);
    const etag = page.headers.get("etag") ?? "";
    tags.add(etag);
    assert.equal((await fetch(at, { headers: { ...html, "if-none-match": etag } })).status, 304);
    const plain = await fetch(at, { headers: { ...html, "accept-encoding": "identity" } });
    assert.match(await plain.text(), /\.\.\/assets/);
  }
  assert.equal(tags.size, 3, "documents of different depth are different");
  for (const path of ["address", "address/", "value/", `value/tag/${"x/".repeat(99)}`]) {
    assert.equal((await fetch(`${url}/${path}`, { headers: html })).status, 404, path);
  }
  assert.equal((await fetch(`${url}/address/10.0.0.1`, { method: "POST", headers: html })).status, 405);
});

test("an unknown path is a page for a browser, an error for programs, also where credentials are needed", async (t) => {
  const { url } = await startApi(t, { pagesFolder: builtPages(t), basicAuth: { username: "o", password: "p" } });
  const beside = await fetch(`${url}/no-such-page?x=1`, { headers: html });
  assert.deepEqual(
    [beside.status, beside.headers.get("content-type"), beside.headers.get("www-authenticate")],
    [404, "text/html; charset=utf-8", null],
  );
  assert.match(await beside.text(), /^<!doctype html><title>netgloss<\/title>/);
  assert.match(beside.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  const below = await fetch(`${url}/api/v1/nothing`, { headers: html });
  assert.equal(below.status, 404);
  assert.match(await below.text(), /There is no such page.*<a href="..\/..\/">/s);
  const head = await fetch(`${url}/no-such-page`, { method: "HEAD", headers: html });
  assert.equal(head.status, 404);
  const right = { authorization: `Basic ${btoa("o:p")}` };
  for (const accept of ["application/json", "*/*"]) {
    const error = await fetch(`${url}/no-such-page`, { headers: { accept, ...right } });
    assert.deepEqual([error.status, error.headers.get("content-type")], [404, "application/json"]);
    assert.equal(((await error.json()) as { code: string }).code, "not_found");
    assert.equal((await fetch(`${url}/no-such-page`, { headers: { accept } })).status, 401);
  }
  assert.equal((await fetch(`${url}/no-such-page`, { method: "POST", headers: html })).status, 401);
});

test("a path cannot leave the folder of the pages", async (t) => {
  const { port } = await startApi(t, { pagesFolder: builtPages(t) });
  for (const path of [
    "/assets/../secret.txt",
    "/assets/%2e%2e/secret.txt",
    "/../../etc/passwd",
    "/assets/..%5csecret.txt",
  ]) {
    const answer = await exchange(t, port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 404 /, path);
  }
});

test("files with a hash in their name are kept for good, compressed for who takes that", async (t) => {
  const { url, port } = await startApi(t, { pagesFolder: builtPages(t) });
  const path = "/assets/index-Ab12.js";
  const plain = await fetch(url + path, { headers: { "accept-encoding": "identity" } });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(await plain.text(), script);
  assert.match(plain.headers.get("cache-control") ?? "", /max-age=31536000, immutable/);
  assert.equal(plain.headers.get("content-type"), "text/javascript; charset=utf-8");
  const packed = await fetch(url + path, { headers: { "accept-encoding": "br, gzip;q=0.5" } });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.equal(await packed.text(), script);
  const refused = await fetch(url + path, { headers: { "accept-encoding": "gzip;q=0" } });
  assert.equal(refused.headers.get("content-encoding"), null);

  const etag = plain.headers.get("etag") ?? "";
  assert.notEqual(etag, "");
  for (const tag of [etag, `"x", ${etag}`, "*", etag.slice(2)]) {
    const known = await fetch(url + path, { headers: { "if-none-match": tag } });
    assert.deepEqual([known.status, await known.text()], [304, ""]);
  }
  assert.equal((await fetch(url + path, { headers: { "if-none-match": '"other"' } })).status, 200);
  const unchanged = await exchange(
    t,
    port,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: ${etag}\r\nConnection: close\r\n\r\n`,
  );
  assert.match(unchanged, /^HTTP\/1\.1 304 /);
  assert.doesNotMatch(unchanged, /content-length/i);
  const head = await fetch(url + path, { method: "HEAD" });
  assert.deepEqual([head.status, await head.text(), head.headers.get("etag")], [200, "", etag]);
});

test("the pages need no proof, their data does; pages get no challenge that opens a dialog", async (t) => {
  const basicAuth = { username: "u", password: "p" };
  const { url } = await startApi(t, { pagesFolder: builtPages(t), basicAuth });
  for (const path of ["", "explore", "assets/index-Ab12.js"]) {
    assert.equal((await fetch(`${url}/${path}`, { headers: html })).status, 200, path);
  }
  assert.deepEqual(await (await fetch(`${url}/api/v1/sign-in`)).json(), { required: true, ways: ["password"] });
  const program = await fetch(`${url}/session`);
  assert.deepEqual([program.status, program.headers.get("www-authenticate")?.slice(0, 5)], [401, "Basic"]);
  const page = await fetch(`${url}/session`, { headers: { "x-requested-with": "netgloss-pages" } });
  assert.deepEqual([page.status, page.headers.get("www-authenticate")], [401, 'Bearer realm="netgloss"']);
  const authorization = `Basic ${btoa("u:p")}`;
  const known = await fetch(`${url}/session`, { headers: { authorization } });
  assert.deepEqual(await known.json(), { name: "u", role: "admin", by: "basic" });
});

test("without users nobody has to sign in, and everyone is nobody", async (t) => {
  const { url } = await startApi(t);
  assert.deepEqual(await (await fetch(`${url}/api/v1/sign-in`)).json(), { required: false, ways: [] });
  assert.deepEqual(await (await fetch(`${url}/session`)).json(), {});
});

test("pages that were not built are a sentence on what to do", async (t) => {
  const { url } = await startApi(t, { pagesFolder: join(tempDirectory(t), "missing") });
  const page = await fetch(url, { headers: html });
  assert.equal(page.status, 503);
  assert.match(await page.text(), /npm run build/);
  assert.equal((await fetch(url)).status, 200);
});
