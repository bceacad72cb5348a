import assert from "node:assert/strict";
import { test } from "node:test";
import type { Operation } from "../../src/server/index.ts";
import { postJson, startApi } from "./api-fixture.ts";

const path = "/api/v1/things/{id}/test";
const operation: Operation = {
  summary: "Tests a thing",
  role: "editor",
  area: "collector",
  schema: { type: "object" },
  run: async (id) => (id === "a/b" ? { id } : undefined),
};
const operations = new Map([[path, operation]]);

test("an operation does its one thing by POST; what there is not is not found, and a body is refused", async (t) => {
  const { url, metrics } = await startApi(t, { operations });
  const done = await postJson(`${url}/api/v1/things/a%2Fb/test`, {});
  assert.deepEqual([done.status, done.body], [200, { id: "a/b" }]);
  const bare = await fetch(`${url}/api/v1/things/a%2Fb/test`, { method: "POST" });
  assert.equal(bare.status, 200);
  for (const id of ["c", "%ff"]) {
    const missing = await postJson(`${url}/api/v1/things/${id}/test`, {});
    assert.deepEqual([missing.status, missing.body["code"]], [404, "not_found"], id);
  }
  const answer = await postJson(`${url}/api/v1/things/a%2Fb/test`, { force: true });
  assert.deepEqual([answer.status, answer.body["message"]], [400, "the request has no body"]);
  assert.equal((await fetch(`${url}/api/v1/things/a%2Fb/test`)).status, 405);
  const labels = { method: "things/test", transport: "json", code: "ok" };
  assert.equal(await metrics.value("netgloss_api_requests_total", labels), 1);
});

test("the OpenAPI document has the operation with its id", async (t) => {
  const { url } = await startApi(t, { operations });
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { summary: string; operationId: string; parameters: { name: string }[] } }>;
  };
  const post = document.paths[path]?.post;
  assert.deepEqual(
    [post?.summary, post?.operationId, post?.parameters[0]?.name],
    ["Tests a thing", "runApiV1ThingsIdTest", "id"],
  );
});
