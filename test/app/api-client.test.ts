import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { selfSigned } from "../support/self-signed.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const count: RequestListener = (request, response) => {
  request.resume();
  response.end(JSON.stringify({ count: request.url?.startsWith("/netgloss/") === true ? 7 : 1 }));
};

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => server.close());
  return (server.address() as AddressInfo).port;
}

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(["udm", ...argv]);
  const code = await runProgram(terminal);
  return { code, ...terminal.written };
}

test("the path of --url stands before that of the API, as behind a proxy", async (t) => {
  const port = await listen(t, createServer(count));
  assert.equal((await run("count", "--url", `http://127.0.0.1:${port}/netgloss/`)).out, "7\n");
  assert.equal((await run("count", "--url", `http://127.0.0.1:${port}/netgloss`)).out, "7\n");
  assert.equal((await run("count", "--url", `http://127.0.0.1:${port}`)).out, "1\n");
});

test("a certificate that is not trusted is said to be so; --ca trusts it", async (t) => {
  const { cert, key } = selfSigned();
  const port = await listen(t, createTlsServer({ cert, key }, count));
  const url = `https://127.0.0.1:${port}`;
  const untrusted = await run("count", "--url", url);
  assert.equal(untrusted.code, 6);
  assert.match(untrusted.err, /^error: the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted: .*--ca\n$/);
  const ca = join(tempDirectory(t), "ca.pem");
  writeFileSync(ca, cert);
  assert.deepEqual(await run("count", "--url", url, "--ca", ca), { code: 0, out: "1\n", err: "" });
});

test("TLS and plain HTTP mixed up is said, and so is an answer of another server", async (t) => {
  const plain = await listen(
    t,
    createServer((_, response) => void response.end("<html>")),
  );
  assert.match(
    (await run("count", "--url", `https://127.0.0.1:${plain}`)).err,
    /does not speak TLS: is http:\/\/ meant/,
  );
  const strange = await run("count", "--url", `http://127.0.0.1:${plain}`);
  assert.equal(strange.code, 1);
  assert.match(strange.err, /does not answer as netgloss does: <html>/);
});

/** Runs `udm list` with a slow or impatient reader. */
async function list(
  t: TestContext,
  entries: number,
  read: "slowly" | "head",
): Promise<{ code: number; lines: number; err: string }> {
  const udms = Array.from({ length: entries }, (_, i) => ({ key: `10.0.${i >> 8}.${i & 255}`, name: `host-${i}` }));
  const port = await listen(
    t,
    createServer((request, response) => {
      request.resume();
      response.end(JSON.stringify({ udms }));
    }),
  );
  const child = spawn(process.execPath, [bin, "udm", "list", "--url", `http://127.0.0.1:${port}`]);
  let out = "";
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdout.setEncoding("utf8").pause();
  setTimeout(() => {
    child.stdout.on("data", (text: string) => {
      out += text;
      if (read === "head") child.stdout.destroy();
    });
    child.stdout.resume();
  }, 600);
  const code = await new Promise<number>((resolve) => child.on("close", (exitCode) => resolve(exitCode ?? -1)));
  return { code, lines: out.split("\n").length - 1, err };
}

test("a list into a pipe is whole, however slow its reader", async (t) => {
  assert.deepEqual(await list(t, 20_000, "slowly"), { code: 0, lines: 20_001, err: "" });
});

test("a reader that goes away is a clean end", async (t) => {
  const { code, err } = await list(t, 20_000, "head");
  assert.deepEqual([code, err], [0, ""]);
});

test("an output that cannot be written is a failure that says so", async (t) => {
  const port = await listen(t, createServer(count));
  const child = spawn("sh", [
    "-c",
    `"$0" "$1" udm count --url "$2" > /dev/full`,
    process.execPath,
    bin,
    `http://127.0.0.1:${port}`,
  ]);
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 1);
  assert.match(err, /^error: the output cannot be written: ENOSPC/);
});
