import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, Identities, parseAccessFile, type Operation } from "../../src/server/index.ts";
import { systemClock } from "../../src/base/report/index.ts";
import { cheapHash } from "../support/cheap-hash.ts";
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

test("an operation knows who asks, and whether a token does", async (t) => {
  const token = createToken("ann-cli");
  const identities = new Identities(systemClock);
  const users = `users:\n  ann: {role: editor, password: "${cheapHash("a")}"}\n`;
  const tokens = `tokens:\n  ann-cli: {role: editor, hash: "${token.hash}"}\n`;
  identities.replace(parseAccessFile("users.yml", users + tokens));
  const who: Operation = { ...operation, run: async (_id, user, _body, isToken) => ({ user, isToken }) };
  const { url } = await startApi(t, { identities, operations: new Map([[path, who]]) });
  const asked = async (authorization: string): Promise<unknown> =>
    (await postJson(`${url}/api/v1/things/a/test`, {}, { authorization })).body;
  assert.deepEqual(await asked(`Basic ${btoa("ann:a")}`), { user: "ann", isToken: false });
  assert.deepEqual(await asked(`Bearer ${token.token}`), { user: "ann-cli", isToken: true });
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
