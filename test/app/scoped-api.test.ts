// The API in a scope: its own entries, file and history, and nothing of those of others.
import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Scopes } from "../../src/metadata/index.ts";
import { createHealth, createMetrics, silentLog, systemClock, type Health } from "../../src/base/report/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { postJson, startApi, type ApiFixture } from "../server/api-fixture.ts";
import { AddressEnricher } from "../../src/enrich/index.ts";
import type { RecordFields } from "../../src/record/index.ts";
import type { ExplainedObject, ObjectQuestion } from "../../src/server/index.ts";
import type { CollectorUdmStore, UdmFileStore } from "../../src/metadata/index.ts";

interface Fixture {
  readonly api: ApiFixture;
  readonly scopes: Scopes;
  readonly store: CollectorUdmStore;
  readonly health: Health;
  /** The file of scopes. */
  readonly path: string;
  readonly directory: string;
}

/** What a record gets at whose object the address is. */
function explain(addresses: AddressEnricher, { object, address, scope }: ObjectQuestion): ExplainedObject {
  const name = `${object}.ip.addr`;
  const record: RecordFields = new Map([[name, address]]);
  if (scope === undefined) addresses.enrich(record);
  else addresses.enrichIn(scope, record);
  return { json: JSON.stringify(Object.fromEntries(record)), asked: new Set([name]), sources: new Map() };
}

async function setUp(t: Owner, text: string, log = silentLog): Promise<Fixture> {
  const directory = tempDirectory(t);
  const state = { stateDirectory: directory };
  const { store } = storeOn(nodeFileIo, { path: join(directory, "ipaddrs.yml"), ...state });
  const path = join(directory, "scopes.yml");
  await writeFile(path, text);
  const reporting = { clock: systemClock, metrics: createMetrics(), log, health: createHealth() };
  const scopes = new Scopes({ ...reporting, path, metadata: store, entries: { owned: true, refreshMs: 0, ...state } });
  cleanUp(t, () => store.stop());
  await store.start();
  cleanUp(t, () => scopes.stop());
  await scopes.start();
  const addresses = new AddressEnricher({
    ...reporting,
    watch: store.watchAddresses,
    ttlMs: 1_000_000,
    invalidate: true,
    maxCached: 100,
  });
  cleanUp(t, () => addresses.stop());
  await addresses.start();
  const api = await startApi(t, {
    udm: store,
    tools: store,
    scopes: (name) => scopes.store(name),
    explainObject: async () => (question) => explain(addresses, question),
  });
  return { api, scopes, store, health: reporting.health, path, directory };
}

test("methods by path and by header are of the scope, and leave all else alone", async (t) => {
  const { api, scopes, path, directory } = await setUp(
    t,
    "acme:\n  entries: acme.yml\nbeta:\n  entries: beta.yml\n  inherit: false\nbare: {}\n",
  );
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

test("who follows the changes of a scope that goes is told so", async (t) => {
  const { api, scopes, path } = await setUp(t, "acme:\n  entries: acme.yml\n");
  const response = await fetch(`${api.url}/api/v1/enrich/ipaddr/changes`, { headers: { "udm-scope": "acme" } });
  assert.equal(response.status, 200);
  const text = response.text();
  await writeFile(path, "beta:\n  entries: beta.yml\n");
  await scopes.reload();
  assert.match(await text, /STORE_STOPPED|are gone, or in another file now/);
});

test("the log of a write names its scope", async (t) => {
  const written: unknown[] = [];
  const log = { ...silentLog, info: (fields: object) => void ("revision" in fields && written.push(fields)) };
  const { api } = await setUp(t, "acme:\n  entries: acme.yml\n", log);
  const body = { udm: { key: "10.0.0.1" } };
  await postJson(`${api.url}/udm.v1.UdmService/CreateUdm`, body, { "udm-scope": "acme" });
  assert.deepEqual(
    written.map((fields) => (fields as { scope?: string }).scope),
    ["acme"],
  );
});

test("a question without a scope about an exporter in one says which of its entries count", async (t) => {
  const { api } = await setUp(t, "acme:\n  match:\n    - exporter: 192.0.2.1\n  entries: acme.yml\n");
  const base = `${api.url}/api/v1/enrich/ipaddr`;
  for (const scope of ["", "acme"]) {
    const udm = { key: "192.0.2.0/24", name: `of ${scope}` };
    await postJson(`${base}/udm.v1.UdmService/CreateUdm`, { udm }, { "udm-scope": scope });
  }
  const { body } = await postJson(`${base}/udm.v1.UdmToolsService/ExplainAddress`, { ip: "192.0.2.1" });
  const [src, exporter] = ["src", "exporter"].map((name) => {
    const contexts = body["contexts"] as { context: string; fields: { field: string; [of: string]: unknown }[] }[];
    return contexts.find(({ context }) => context === name)?.fields.find(({ field }) => field.endsWith("subnet.name"));
  });
  const fileOf = (field: typeof src): unknown =>
    (field?.["origins"] as { file: string }[] | undefined)?.[0]?.file.split("/").at(-1);
  assert.deepEqual([src?.["value"], fileOf(src)], ['"of "', "ipaddrs.yml"]);
  assert.deepEqual([exporter?.["value"], fileOf(exporter)], ['"of acme"', "acme.yml"]);
});

test("no scope has the file of another or of the global entries, however it is spelt", async (t) => {
  const { scopes, health, path, directory } = await setUp(t, "acme:\n  entries: acme.yml\n");
  const detail = (): string | undefined => health.checks().find(({ name }) => name === "scopes")?.detail;
  for (const [entries, owner] of [
    [join(directory, "acme.yml"), 'scope "acme"'],
    ["./ipaddrs.yml", "the global entries"],
  ]) {
    await writeFile(path, `acme:\n  entries: acme.yml\nbeta:\n  entries: ${entries}\n`);
    await scopes.reload();
    assert.match(detail() ?? "", new RegExp(`is the file of ${owner} already`));
    assert.equal(scopes.store("beta"), undefined);
  }
  // A link is only seen when the file is taken.
  await symlink(join(directory, "ipaddrs.yml"), join(directory, "link.yml"));
  await writeFile(path, "beta:\n  entries: link.yml\ngamma:\n  entries: gamma.yml\n");
  await scopes.reload();
  assert.match(detail() ?? "", /^beta: .*is in use by another collector/);
  assert.equal((scopes.store("gamma") as UdmFileStore).current().size, 0);
});
