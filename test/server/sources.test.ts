import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceRefusal, type SourceOperations } from "../../src/server/index.ts";
import { startApi } from "./api-fixture.ts";

const path = "/api/v1/enrich/sources";

async function ask(url: string, operation: string, body: string): Promise<[number, unknown]> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}${path}/${operation}`, { method: "POST", headers, body });
  const { code, message, ...rest } = (await answer.json()) as { code?: string; message?: string };
  return [answer.status, code === undefined ? rest : `${code}: ${message}`];
}

test("operations on sources answer what the source says, and name what is wrong", async (t) => {
  const sources: SourceOperations = (operation, name) => {
    if (name === "held") return Promise.reject(new SourceRefusal("not_found", "nothing is held"));
    if (name === "away") return Promise.reject(new SourceRefusal("unavailable", "it cannot be reached"));
    return name === "plan" ? Promise.resolve({ operation }) : undefined;
  };
  const { url } = await startApi(t, { sources });
  for (const operation of ["run", "diff", "accept"]) {
    assert.deepEqual(await ask(url, operation, '{"name":"plan"}'), [200, { operation }]);
  }
  assert.deepEqual(await ask(url, "run", '{"name":"plam"}'), [404, 'not_found: there is no source "plam"']);
  assert.deepEqual(await ask(url, "accept", '{"name":"held"}'), [404, "not_found: nothing is held"]);
  assert.deepEqual(await ask(url, "diff", '{"name":"away"}'), [503, "unavailable: it cannot be reached"]);
  for (const body of ["{}", "[]", '{"name":1}', '{"name":"plan","more":1}']) {
    const [status, error] = await ask(url, "run", body);
    assert.equal(status, 400);
    assert.match(String(error), /^invalid_argument: the body must be an object with the name of a source/);
  }
});

test("a collector without sources answers 501", async (t) => {
  const { url } = await startApi(t);
  assert.deepEqual(await ask(url, "run", '{"name":"plan"}'), [
    501,
    "unimplemented: no sources of metadata are set up in this collector",
  ]);
});
