// The API in a scope: its own entries, file and history, and nothing of those of others.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Scopes } from "../../src/metadata/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { postJson, startApi } from "../server/api-fixture.ts";

test("methods by path and by header are of the scope, and leave all else alone", async (t) => {
  const directory = tempDirectory(t);
  const state = { stateDirectory: directory };
  const { store } = storeOn(nodeFileIo, { path: join(directory, "ipaddrs.yml"), ...state });
  await writeFile(
    join(directory, "scopes.yml"),
    "acme:\n  entries: acme.yml\nbeta:\n  entries: beta.yml\n  inherit: false\nbare: {}\n",
  );
  const reporting = { clock: systemClock, metrics: createMetrics(), log: silentLog, health: createHealth() };
  const path = join(directory, "scopes.yml");
  const scopes = new Scopes({ ...reporting, path, metadata: store, entries: { owned: true, refreshMs: 0, ...state } });
  cleanUp(t, () => store.stop());
  await store.start();
  cleanUp(t, () => scopes.stop());
  await scopes.start();
  const api = await startApi(t, { udm: store, tools: store, scopes: (name) => scopes.store(name) });
  const base = `${api.url}/api/v1/enrich/ipaddr`;
  const call = (method: string, body: unknown, scope = ""): ReturnType<typeof postJson> =>
    postJson(`${base}${scope === "" ? "" : `/scopes/${scope}`}/${method}`, body);
  const udm = (name: string): unknown => ({ udm: { key: "10.0.0.0/8", name } });
  for (const scope of ["", "acme", "beta"]) {
    assert.equal((await call("udm.v1.UdmService/CreateUdm", udm(`of ${scope}`), scope)).status, 200);
  }
  for (const scope of ["", "acme", "beta"]) {
    const expected = { udms: [{ key: "10.0.0.0/8", name: `of ${scope}` }] };
    assert.deepEqual((await call("udm.v1.UdmService/ListUdms", {}, scope)).body, expected);
    const byHeader = await postJson(`${base}/udm.v1.UdmService/ListUdms`, {}, { "udm-scope": scope });
    assert.deepEqual(byHeader.body, expected);
    const { body } = await call("udm.v1.UdmToolsService/ListChanges", {}, scope);
    assert.equal((body["changes"] as unknown[]).length, 1);
  }
  assert.match(await readFile(join(directory, "acme.yml"), "utf8"), /of acme/);
  const unknown = await call("udm.v1.UdmService/ListUdms", {}, "other");
  assert.deepEqual([unknown.status, unknown.body["message"]], [404, 'there is no scope "other"']);
  const bare = await call("udm.v1.UdmService/ListUdms", {}, "bare");
  assert.equal(bare.status, 501);
  assert.match(String(bare.body["message"]), /has no file of entries/);
  assert.equal((await postJson(`${base}/scopes/acme/nothing`, {})).status, 404);
  // What goes from the file of scopes is not there any more; its file stays.
  await writeFile(path, "beta:\n  entries: beta.yml\n");
  await scopes.reload();
  assert.equal((await call("udm.v1.UdmService/ListUdms", {}, "acme")).status, 404);
  assert.match(await readFile(join(directory, "acme.yml"), "utf8"), /of acme/);
  assert.equal((await call("udm.v1.UdmService/CountUdms", {}, "beta")).body["count"], 1);
});
