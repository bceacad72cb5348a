import assert from "node:assert/strict";
import { test } from "node:test";
import { collectorMethods, type ListView } from "../../src/server/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { countTurns } from "../support/count-turns.ts";
import { startApi } from "./api-fixture.ts";

const views = new Map([["/api/v1/things/{id}", (id: string) => (id === "[::1]:161" ? { id } : undefined)]]);

test("a view with an id shows one thing; what there is not is not found", async (t) => {
  const { url } = await startApi(t, { views });
  const found = await fetch(`${url}/api/v1/things/${encodeURIComponent("[::1]:161")}`);
  assert.deepEqual([found.status, await found.json()], [200, { id: "[::1]:161" }]);
  for (const id of ["other", "%ff", "{id}", ""]) {
    const missing = await fetch(`${url}/api/v1/things/${id}`);
    assert.equal(missing.status, 404, id);
    assert.equal(((await missing.json()) as { code: string }).code, "not_found");
  }
  assert.equal((await fetch(`${url}/api/v1/things/a`, { method: "POST" })).status, 405);
});

test("an id may stand before the last segment", async (t) => {
  const nested = new Map([["/api/v1/things/{id}/state", (id: string) => (id === "a/b" ? { id } : undefined)]]);
  const { url } = await startApi(t, { views: nested });
  const found = await fetch(`${url}/api/v1/things/a%2Fb/state`);
  assert.deepEqual([found.status, await found.json()], [200, { id: "a/b" }]);
  for (const path of ["things/c/state", "things/a%2Fb", "things/a%2Fb/other", "things/state", "things/x/y/state"]) {
    assert.equal((await fetch(`${url}/api/v1/${path}`)).status, 404, path);
  }
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { get: { parameters: { name: string }[] } }>;
  };
  assert.equal(document.paths["/api/v1/things/{id}/state"]?.get.parameters[0]?.name, "id");
});

test("the OpenAPI document declares the id", async (t) => {
  const { url } = await startApi(t, { views });
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { get: { parameters: unknown; responses: object } }>;
  };
  const { get } = document.paths["/api/v1/things/{id}"] as { get: { parameters: unknown; responses: object } };
  assert.deepEqual(get.parameters, [{ name: "id", in: "path", required: true, schema: { type: "string" } }]);
  assert.ok("404" in get.responses);
});

test("the OpenAPI document has of a view its row in the table of methods, and any JSON of the others", async (t) => {
  const { url } = await startApi(t, {
    views: new Map<string, (id: string) => unknown>([...views, ["/api/v1/outputs", () => ({ outputs: [] })]]),
  });
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { get: { summary: string; responses: Record<string, { content: Record<string, object> }> } }>;
  };
  const of = (path: string): unknown[] => {
    const get = document.paths[path]?.get;
    return [get?.summary, get?.responses["200"]?.content["application/json"]];
  };
  const { summary, answer } = collectorMethods.listOutputs;
  assert.deepEqual(of("/api/v1/outputs"), [summary, JSON.parse(JSON.stringify({ schema: answer.schema }))]);
  assert.deepEqual(of("/api/v1/things/{id}"), ["The state at /api/v1/things/{id}", { schema: {} }]);
});

test("the elements of a long list are made while it is sent, a hundred in one turn of the event loop", async (t) => {
  const turns = countTurns();
  cleanUp(t, () => turns.stop());
  const inTurn = new Map<number, number>();
  let count = 0;
  const list: ListView = {
    head: () => ({ enabled: true }),
    name: "things",
    *elements() {
      for (let i = 0; i < count; i++) {
        inTurn.set(turns.count, (inTurn.get(turns.count) ?? 0) + 1);
        yield { i, text: "ä".repeat(100) };
      }
    },
  };
  const { url } = await startApi(t, { views: new Map([["/api/v1/things", list]]) });
  const get = (method = "GET"): Promise<Response> => fetch(`${url}/api/v1/things`, { method });
  for (count of [0, 1, 99, 100, 101, 2500]) {
    const answer = await get();
    assert.equal(answer.headers.get("content-type"), "application/json");
    const { enabled, things } = (await answer.json()) as { enabled: boolean; things: { i: number }[] };
    assert.deepEqual([enabled, things.length, things.at(-1)?.i], [true, count, count === 0 ? undefined : count - 1]);
  }
  assert.ok(Math.max(...inTurn.values()) <= 101, `${Math.max(...inTurn.values())} in one turn`);
  assert.equal(await (await get("HEAD")).text(), "");
});

test("a fault before a list begins is answered as one", async (t) => {
  const list: ListView = {
    head: () => ({}),
    name: "things",
    elements() {
      throw new Error("no things");
    },
  };
  const { url } = await startApi(t, { views: new Map([["/api/v1/things", list]]) });
  assert.equal((await fetch(`${url}/api/v1/things`)).status, 500);
});
