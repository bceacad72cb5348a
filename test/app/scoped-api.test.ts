// The API in a scope: its own entries, file and history, and nothing of those of others.
import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { Scopes } from "../../src/metadata/index.ts";
import { createHealth, createMetrics, silentLog, systemClock, type Health } from "../../src/base/report/index.ts";
import { runs } from "../support/runs.ts";
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
    definitions: scopes,
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

test("rows of a table go into the scopes that they name, which there must be, and by a call in a scope into that one alone", async (t) => {
  const { api } = await setUp(t, "acme:\n  entries: acme.yml\nbeta:\n  entries: beta.yml\nbare: {}\n");
  const base = `${api.url}/api/v1/enrich/ipaddr`;
  const load = (text: string, scope = "", more: object = {}): ReturnType<typeof postJson> =>
    postJson(`${base}/udm.v1.UdmToolsService/ImportUdms`, { format: "csv", text, ...more }, { "udm-scope": scope });
  const names = async (scope: string): Promise<unknown> => {
    const { body } = await postJson(`${base}/udm.v1.UdmService/ListUdms`, {}, { "udm-scope": scope });
    return ((body["udms"] ?? []) as { key: string; name: string }[]).map(({ key, name }) => `${key} ${name}`);
  };
  const all = async (): Promise<unknown> => Promise.all(["", "acme", "beta"].map(names));
  const table = "scope,key,name\n,10.0.0.1,global\nacme,10.0.0.1,of acme\nbeta,10.0.0.1,of beta\nacme,10.0.0.2,two\n";
  assert.deepEqual((await load(table, "", { dryRun: true })).body["created"], 4);
  assert.deepEqual(await all(), [[], [], []]);
  const done = await load(table);
  assert.deepEqual([done.status, done.body["created"]], [200, 4]);
  const loaded = [["10.0.0.1 global"], ["10.0.0.1 of acme", "10.0.0.2 two"], ["10.0.0.1 of beta"]];
  assert.deepEqual(await all(), loaded);
  for (const [text, scope, message, more] of [
    [
      "key,scope\n10.0.0.3,\n10.0.0.3,gamma\n",
      "",
      'row 3, column "scope", scope","description":"there is no scope "gamma"',
      {},
    ],
    ["key,scope\n10.0.0.3,bare\n", "", "has no file of entries", {}],
    ["key,scope\n10.0.0.3,beta\n", "acme", 'the row is of scope "beta", and the import is into scope "acme"', {}],
    ["key,scope\n10.0.0.3,acme\n10.0.0.3,acme\n", "", 'key "10.0.0.3" is already in row 2', {}],
    ["key,scope\n10.0.0.3,acme\n10.0.0.3,\n", "acme", 'key "10.0.0.3" is already in row 2', {}],
    ["key,scope\n10.0.0.3,acme\n", "", "are no part of what is replaced", { scope: { all: true } }],
  ] as const) {
    const refused = await load(text, scope, more);
    assert.ok(
      refused.status >= 400 && JSON.stringify(refused.body).replaceAll('\\"', '"').includes(message),
      JSON.stringify(refused.body),
    );
  }
  assert.deepEqual(await all(), loaded, "nothing of a table with a fault is imported");
  assert.deepEqual((await load("key,scope,name\n10.0.0.2,acme,again\n", "acme")).body["updated"], 1);
});

test("one table has the entries of all scopes, each with its own, and is read back as it was", async (t) => {
  const { api } = await setUp(t, "acme:\n  entries: acme.yml\nbare: {}\nbeta:\n  entries: beta.yml\n");
  const call = (method: string, body: object, scope = ""): ReturnType<typeof postJson> =>
    postJson(`${api.url}/api/v1/enrich/ipaddr/udm.v1.UdmToolsService/${method}`, body, { "udm-scope": scope });
  const table =
    "scope,key,name,tags,vlan,internal,metadata:.site\r\n" +
    ",10.0.0.0/8,global,,,,\r\nacme,10.0.0.0/8,of acme,pci,,,\r\nacme,10.0.0.1,one,,7,,ams\r\nbeta,10.0.0.0/8,of beta,,,,\r\n";
  assert.equal((await call("ImportUdms", { format: "csv", text: table })).body["created"], 4);
  const exported = async (more: object = {}): Promise<unknown> =>
    (await call("ExportUdms", { format: "csv", allScopes: true, ...more })).body["text"];
  assert.equal(await exported(), table);
  assert.equal((await call("ExportUdms", { format: "csv", allScopes: true })).body["entries"], 4);
  assert.equal(
    await exported({ filter: "tag = pci" }),
    "scope,key,name,tags,vlan,internal\r\nacme,10.0.0.0/8,of acme,pci,,\r\n",
  );
  for (const format of ["csv", "json", "ndjson"]) {
    const text = await exported({ format });
    const { body } = await call("ImportUdms", { format, text, mostChanges: 10 });
    assert.deepEqual([body["unchanged"], body["created"], body["updated"]], [4, undefined, undefined], format);
  }
  assert.equal(
    (await call("ExportUdms", { format: "csv" }, "acme")).body["text"],
    "key,name,tags,vlan,internal,metadata:.site\r\n10.0.0.0/8,of acme,pci,,,\r\n10.0.0.1,one,,7,,ams\r\n",
    "the table of one scope names none",
  );
  for (const [body, scope, sentence] of [
    [{ format: "yaml", allScopes: true }, "", "yaml has no column for the scope"],
    [{ format: "csv", allScopes: true }, "acme", 'the call is in scope "acme"'],
  ] as const) {
    const refused = await call("ExportUdms", body, scope);
    assert.equal(refused.status, 400);
    assert.ok(JSON.stringify(refused.body).replaceAll('\\"', '"').includes(sentence), JSON.stringify(refused.body));
  }
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

/** Calls the service of scopes, and what undoes their changes. */
const callerOf =
  ({ api }: Fixture) =>
  async (method: string, body: unknown): Promise<Awaited<ReturnType<typeof postJson>>> => {
    const service = method === "UndoChange" || method === "ListChanges" ? "UdmToolsService" : "ScopeService";
    return postJson(`${api.url}/api/v1/enrich/ipaddr/udm.v1.${service}/${method}`, body);
  };

const namesOf = (scopes: unknown): readonly string[] => (scopes as { name: string }[]).map(({ name }) => name);

test("scopes are set, changed, moved, deleted and brought back; the file says so, and what a person wrote is kept", async (t) => {
  const written = "# by hand\nacme:\n  match: [{vrf: red}]\n  entries: acme.yml\n";
  const fixture = await setUp(t, written);
  const { path, directory, scopes } = fixture;
  const call = callerOf(fixture);
  const beta = {
    name: "beta",
    match: [{ exporter: ["2001:DB8::/32"], interface: ["Gi0/*"] }, { vlan: ["7", "100-199"] }],
  };
  const made = await call("SetScope", { scope: { ...beta, isolated: true }, before: "acme" });
  const entries = join(directory, "scopes", "beta.yml");
  const shown = {
    name: "beta",
    match: [{ exporter: ["2001:db8::/32"], interface: ["Gi0/*"] }, { vlan: ["7", "100-199"] }],
    isolated: true,
    entries,
  };
  assert.deepEqual([made.status, made.body], [200, { scope: shown, change: 1 }]);
  assert.equal(await readFile(`${path}.orig`, "utf8"), written);
  assert.match(
    await readFile(path, "utf8"),
    /\nbeta:\n {2}match:\n {4}- exporter: \["2001:db8::\/32"\]\n {6}interface: \["Gi0\/\*"\]\n {4}- vlan: \["7", "100-199"\]\n {2}inherit: false\n {2}entries: scopes\/beta\.yml\nacme:\n/,
  );
  const udm = { udm: { key: "10.0.0.1", name: "one" } };
  const inBeta = `${fixture.api.url}/api/v1/enrich/ipaddr/scopes/beta/udm.v1.UdmService`;
  assert.equal((await postJson(`${inBeta}/CreateUdm`, udm)).status, 200);
  const { body: listed } = await call("ListScopes", {});
  assert.deepEqual(namesOf(listed["scopes"]), ["beta", "acme"]);
  assert.deepEqual((listed["scopes"] as unknown[])[0], { ...shown, count: 1 });
  // What is the same already is no change.
  assert.equal((await call("SetScope", { scope: { ...beta, isolated: true } })).body["change"], undefined);

  const gone = await call("DeleteScope", { name: "beta" });
  assert.deepEqual([gone.body["change"], (gone.body["scope"] as { count: number }).count], [2, 1]);
  assert.equal((await postJson(`${inBeta}/CountUdms`, {})).status, 404);
  assert.equal((await call("UndoChange", { id: 2, dryRun: true })).status, 200);
  assert.deepEqual(namesOf((await call("ListScopes", {})).body["scopes"]), ["acme"]);
  assert.deepEqual((await call("UndoChange", { id: 2 })).body, { change: 3 });
  assert.deepEqual(namesOf((await call("ListScopes", {})).body["scopes"]), ["beta", "acme"], "at its place");
  assert.equal((await postJson(`${inBeta}/CountUdms`, {})).body["count"], 1);
  const again = await call("UndoChange", { id: 2 });
  assert.deepEqual([again.status, again.body["message"]], [400, 'scope "beta" was changed since']);
  const { body: history } = await call("ListChanges", {});
  assert.deepEqual(
    (history["changes"] as { method: string; entries?: number; scope: Record<string, { name: string }> }[]).map(
      ({ method, entries: count, scope }) => [method, count, scope["before"]?.name, scope["after"]?.name],
    ),
    [
      ["UndoChange", undefined, undefined, "beta"],
      ["DeleteScope", undefined, "beta", undefined],
      ["SetScope", undefined, undefined, "beta"],
    ],
  );
  assert.equal(scopes.list().length, 2);
});

test("what cannot be a scope is refused with all that is wrong, and changes nothing", async (t) => {
  const fixture = await setUp(t, "acme:\n  entries: acme.yml\n");
  const { path } = fixture;
  const call = callerOf(fixture);
  const before = await readFile(path, "utf8");
  for (const [method, body, status, message] of [
    ["SetScope", {}, 400, /scope is missing/],
    ["SetScope", { scope: {} }, 400, /name is missing/],
    ["SetScope", { scope: { name: "Big" } }, 400, /expected a name of up to 63 characters.*found "Big"/],
    ["SetScope", { scope: { name: "x\ny: {}" } }, 400, /expected a name of up to 63 characters/],
    ["SetScope", { scope: { name: "x", match: [{}] } }, 400, /scope x: row 1: names nothing/],
    ["SetScope", { scope: { name: "x", match: [{ vlan: ["5000"] }] } }, 400, /scope x: row 1: vlan 1: expected a VLAN/],
    [
      "SetScope",
      { scope: { name: "x", match: [{ exporter: ["no"] }] } },
      400,
      /scope x: row 1: exporter 1: "no" is not/,
    ],
    ["SetScope", { scope: { name: "x", entries: "/etc/passwd", match: [{ vlan: [""] }] } }, 400, /expected a VLAN/],
    ["SetScope", { scope: { name: "x" }, before: "x" }, 404, /no other scope "x" before which/],
    ["SetScope", { scope: { name: "x" }, before: "nope" }, 404, /no other scope "nope"/],
    ["DeleteScope", {}, 400, /name is missing/],
    ["DeleteScope", { name: "nope" }, 404, /there is no scope "nope"/],
  ] as const) {
    const refused = await call(method, body);
    assert.deepEqual(
      [refused.status, message.test(String(refused.body["message"]))],
      [status, true],
      JSON.stringify(refused.body),
    );
  }
  assert.equal(await readFile(path, "utf8"), before);
  // A path is nobody's to choose by the API.
  const made = await call("SetScope", { scope: { name: "x", entries: "/etc/passwd" } });
  assert.match((made.body["scope"] as { entries: string }).entries, /\/scopes\/x\.yml$/);
  // What a person is at work on is left alone.
  await writeFile(path, "acme: [\n");
  const busy = await call("SetScope", { scope: { name: "y" } });
  assert.deepEqual(
    [busy.status, /cannot be used as it is: 2:1/.test(String(busy.body["message"]))],
    [400, true],
    JSON.stringify(busy.body),
  );
  assert.equal(await readFile(path, "utf8"), "acme: [\n");
});

test("edits, with a person at the file in between, do what a list does", async (t) => {
  const fixture = await setUp(t, "");
  const { path } = fixture;
  const call = callerOf(fixture);
  const name = fc.constantFrom("a", "b", "c", "d");
  const edit = fc.oneof(
    fc.record({ op: fc.constant("set" as const), name, before: fc.option(name, { nil: "" }), vlan: fc.nat(3) }),
    fc.record({ op: fc.constant("delete" as const), name }),
    fc.record({ op: fc.constant("hand" as const), name }),
  );
  let model: { name: string; vlan: number }[] = [];
  const apply = (given: typeof edit extends fc.Arbitrary<infer T> ? T : never): boolean => {
    const rest = model.filter((scope) => scope.name !== given.name);
    if (given.op === "delete") {
      const isThere = rest.length < model.length;
      model = rest;
      return isThere;
    }
    if (given.op === "hand") {
      model = [{ name: given.name, vlan: 9 }, ...rest];
      return true;
    }
    const known = model.findIndex((scope) => scope.name === given.name);
    const at =
      given.before === "" ? (known < 0 ? rest.length : known) : rest.findIndex((scope) => scope.name === given.before);
    if (at < 0) return false;
    model = rest.toSpliced(at, 0, { name: given.name, vlan: given.vlan });
    return true;
  };
  const send = async (given: Parameters<typeof apply>[0]): Promise<boolean> => {
    if (given.op === "delete") return (await call("DeleteScope", { name: given.name })).status === 200;
    if (given.op === "hand") {
      await writeFile(path, model.map((scope) => `${scope.name}: {match: [{vlan: ${scope.vlan}}]}\n`).join(""));
      return true;
    }
    const scope = { name: given.name, match: [{ vlan: [String(given.vlan)] }] };
    return (await call("SetScope", { scope, before: given.before })).status === 200;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { maxLength: 8 }), async (edits) => {
      for (const one of edits) {
        const expected = apply(one);
        assert.equal(await send(one), expected, JSON.stringify(one));
      }
      await fixture.scopes.reload();
      assert.deepEqual(
        fixture.scopes.list().map(({ name: of, match }) => [of, match[0]?.vlan?.[0]]),
        model.map(({ name: of, vlan }) => [of, String(vlan)]),
      );
    }),
    runs(12),
  );
});
