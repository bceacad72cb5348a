import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

test("netgloss health shows each check of a collector that is ready", async (t) => {
  const { run } = await startCommandWorld(t);
  const { code, out } = await run("health");
  assert.equal(code, 0);
  assert.match(out, /^ready\nSTATE +CHECK +DETAIL\n/);
  assert.deepEqual(await run("health", "--live"), { code: 0, out: "it runs\n", err: "" });
});

async function answering(t: TestContext, status: number, body: unknown): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(status).end(JSON.stringify(body)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function health(url: string): Promise<{ code: number; out: string; err: string }> {
  const terminal = createFakeTerminal(["health", "--url", url], {});
  const code = await runProgram(terminal);
  return { code, ...terminal.written };
}

test("netgloss health fails for a collector that is not ready, or not there", async (t) => {
  const checks = [
    { name: "flows", ready: true },
    { name: "file", ready: true, degraded: true, detail: "the disk is full" },
    { name: "kafka", ready: false, detail: "no broker answers" },
  ];
  const notReady = await health(await answering(t, 503, { ready: false, degraded: false, checks }));
  assert.equal(notReady.code, 1);
  assert.match(notReady.out, /^not ready\n/);
  assert.match(notReady.out, /not ready +kafka +no broker answers/);
  const degraded = await health(await answering(t, 200, { ready: true, degraded: true, checks: checks.slice(0, 2) }));
  assert.equal(degraded.code, 0);
  assert.match(degraded.out, /^ready, but not all of it works\n[^]*degraded +file +the disk is full/);
  const away = await health("http://127.0.0.1:1");
  assert.equal(away.code, 6);
  assert.equal((await health(await answering(t, 500, {}))).code, 1);
});
