// The methods of UdmToolsService: each over every protocol, then one by one.
import type { ExplainedObject, ObjectQuestion } from "../../src/server/index.ts";
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { create, fromBinary, toBinary, type JsonValue } from "@bufbuild/protobuf";
import { parseKey } from "../../src/base/ip/index.ts";
import { Progress, systemClock } from "../../src/base/report/index.ts";
import { ExportUdmsRequestSchema, ExportUdmsResponseSchema } from "../../src/server/gen/udm/v1/tools_pb.ts";
import { countTurns } from "../support/count-turns.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { createSelect } from "../../src/app/index.ts";
import { startTools, type ToolsFixture } from "./tools-fixture.ts";
import { clientKinds, type Outcome } from "./udm-clients.ts";

const plan = `10.0.0.0/8:
  name: ten
  tags:
    - pci
10.1.0.0/16:
  name: office
  contexts:
    - endpoint
  owner: bob
10.1.0.1:
  name: gateway
  vlan: 7
  metadata:
    .site: AMS1
192.0.2.0/24: {}
"2001:db8::/32":
  name: six
  tags:
    - pci
    - old
`;

const keysOf = (answer: Record<string, JsonValue>, list = "udms"): unknown[] =>
  ((answer[list] ?? []) as { key: string }[]).map(({ key }) => key);
const refusal = (outcome: Outcome): unknown[] => ("fields" in outcome ? [outcome.code, ...outcome.fields] : ["ok"]);
const message = (outcome: Outcome): string => ("message" in outcome ? outcome.message : "");

suite("over every protocol", { concurrency: true }, () => {
  for (const kind of clientKinds) {
    test(kind, async (t) => {
      const explainObject =
        async () =>
        ({ object, address, port, netif }: ObjectQuestion): ExplainedObject => {
          const json = JSON.stringify({ [`${object}.ip.addr`]: address, port, netif });
          return { json, asked: new Set(["port", "netif"]), sources: new Map() };
        };
      const { ask, call } = await startTools(t, plan, { kind, explainObject });
      const question = { ip: "10.1.0.1", context: "src", port: 53, protocol: 17, exporter: "192.0.2.1", ifIndex: 7 };
      const { entries, contexts } = await ask("explainAddress", question);
      assert.deepEqual(keysOf({ entries: entries ?? [] }, "entries"), ["10.1.0.1", "10.1.0.0/16", "10.0.0.0/8"]);
      assert.deepEqual(JSON.parse((contexts as { object: string }[])[0]?.object ?? ""), {
        "flow.src.ip.addr": "10.1.0.1",
        port: { number: 53, protocol: 17 },
        netif: { exporter: "192.0.2.1", index: 7 },
      });
      const upserted = await ask("batchUpsertUdms", {
        requests: [
          { udm: { key: "10.1.0.0/16" }, addTags: ["new"] },
          { udm: { key: "10.9.0.0/16" }, setMetadata: { a: "b" } },
        ],
      });
      assert.deepEqual(upserted, {
        udms: [
          { key: "10.1.0.0/16", name: "office", tags: ["new"], contexts: ["endpoint"], otherFields: "owner: bob\n" },
          { key: "10.9.0.0/16", metadata: { a: "b" } },
        ],
        created: 1,
        updated: 1,
        change: 1,
      });
      const scope = { within: "10.1.0.0/16" };
      const udms = [{ key: "10.1.0.0/16", name: "office" }, { key: "10.1.0.2" }];
      const replaced = await ask("replaceUdms", { udms, scope, maxDeletes: "1" });
      assert.deepEqual(keysOf(replaced, "changes"), ["10.1.0.0/16", "10.1.0.1", "10.1.0.2"]);
      assert.deepEqual(await ask("batchDeleteUdms", { keys: ["10.1.0.2", "10.9.9.9"], ignoreMissing: true }), {
        deleted: 1,
        change: 3,
      });
      assert.deepEqual(keysOf(await ask("undoChange", { id: 3 }), "changes"), ["10.1.0.2"]);
      assert.deepEqual(keysOf(await ask("searchUdms", { filter: "tag = pci" })), ["10.0.0.0/8", "2001:db8::/32"]);
      const { changes, last } = await ask("listChanges", { withoutEntries: true, pageSize: 2 });
      assert.equal(last, 4);
      assert.deepEqual(
        (changes as { method: string; number: number }[]).map(({ method, number }) => [method, number]),
        [
          ["UndoChange", 4],
          ["BatchDeleteUdms", 3],
        ],
      );
      const text = "key,name\n10.8.0.0/16,lab\n";
      const imported = await ask("importUdms", { text, format: "csv", map: "sheet" });
      assert.deepEqual([imported["created"], imported["change"]], [1, 5]);
      const exported = await ask("exportUdms", { format: "ndjson", filter: "name = lab" });
      assert.deepEqual(exported, { text: '{"key":"10.8.0.0/16","name":"lab"}\n', entries: 1 });
      const refused = await call("batchDeleteUdms", { keys: ["10.0.0.0/8", "10.9.9.9", "10.9.9.8"] });
      assert.deepEqual(refusal(refused), ["not_found", "keys[1]", "keys[2]"]);
    });
  }
});

suite("history", { concurrency: true }, () => {
  test("changes are listed page by page, by key and author", async (t) => {
    const { ask, call } = await startTools(t, "");
    for (let i = 0; i < 5; i++)
      await ask("batchUpsertUdms", { requests: [{ udm: { key: `10.0.0.${i % 2}`, name: `n${i}` } }] });
    const first = await ask("listChanges", { pageSize: 2, key: "10.0.0.0" });
    const second = await ask("listChanges", { pageSize: 2, key: "10.0.0.0", pageToken: first["nextPageToken"] ?? "" });
    const numbers = [first, second].map(({ changes }) => (changes as { number: number }[]).map(({ number }) => number));
    assert.deepEqual(numbers, [[5, 3], [1]]);
    assert.equal(second["nextPageToken"], undefined);
    assert.deepEqual([second["first"], second["last"]], [1, 5]);
    const [change] = first["changes"] as Record<string, JsonValue>[];
    assert.deepEqual(change?.["changes"], [
      { key: "10.0.0.0", before: { key: "10.0.0.0", name: "n2" }, after: { key: "10.0.0.0", name: "n4" } },
    ]);
    assert.match(JSON.stringify(change?.["time"]), /^"\d{4}-\d\d-\d\dT[\d:.]+Z"$/);
    assert.equal(((await ask("listChanges", { after: 3 }))["changes"] as unknown[]).length, 2);
    assert.deepEqual(await ask("listChanges", { author: "ann" }), { first: 1, last: 5 });
    const other = { pageSize: 2, key: "10.0.0.1", pageToken: first["nextPageToken"] ?? "" };
    assert.deepEqual(refusal(await call("listChanges", other)), ["invalid_argument", "page_token"]);
    assert.deepEqual(refusal(await call("listChanges", { pageSize: 1001 })), ["invalid_argument", "page_size"]);
    assert.deepEqual(refusal(await call("listChanges", { key: "x" })), ["invalid_argument", "key"]);
  });

  test("without a history that is said, where there is none of a change yet it is not", async (t) => {
    const off = await startTools(t, plan, { historyBytes: 0 });
    await off.ask("batchUpsertUdms", { requests: [{ udm: { key: "10.0.0.9", name: "nine" } }] });
    assert.deepEqual(await off.ask("listChanges", {}), { first: 1, off: true });
    const on = await startTools(t, plan);
    assert.deepEqual(await on.ask("listChanges", {}), { first: 1 });
  });

  test("the author is the user, or the command line", async (t) => {
    const { api, store } = await startTools(t, "");
    const send = (agent: string, key: string): Promise<unknown> =>
      fetch(`${api.url}/udm.v1.UdmService/CreateUdm`, {
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": agent },
        body: JSON.stringify({ udm: { key } }),
      });
    await send("netgloss/1.2.3", "10.0.0.1");
    await send("curl/8", "10.0.0.2");
    const authors = (await store.history.list({ limit: 10 })).map(({ author, method }) => [author, method]);
    assert.deepEqual(authors, [
      ["", "CreateUdm"],
      ["cli", "CreateUdm"],
    ]);
  });

  test("undoing puts back all of it, what the file alone knows included", async (t) => {
    const { ask, store, io } = await startTools(t, plan);
    const before = io.text("/memory/ipaddrs.yml");
    await ask("batchDeleteUdms", { keys: ["10.1.0.0/16", "10.1.0.1"] });
    await ask("undoChange", { id: 1 });
    assert.equal(io.text("/memory/ipaddrs.yml"), before);
    await ask("undoChange", { id: 2 });
    assert.equal(store.current().size, 3);
    const dry = await ask("undoChange", { id: 1, dryRun: true });
    assert.deepEqual(
      [dry["change"], keysOf(dry, "changes"), store.current().size],
      [undefined, ["10.1.0.0/16", "10.1.0.1"], 3],
    );
  });

  test("what later changes did to other fields stays", async (t) => {
    const { ask, call, store } = await startTools(t, plan);
    const upsert = (request: JsonValue): Promise<unknown> => ask("batchUpsertUdms", { requests: [request] });
    const key = "10.1.0.1";
    const write = { udm: { key, name: "wrong" }, setMetadata: { ".site": "FRA", rack: "7" } };
    await ask("batchUpsertUdms", { requests: [write], updateMask: "name" });
    const last = store.history.last();
    await upsert({ udm: { key }, setMetadata: { owner: "bob" }, addTags: ["new"] });
    const { changes } = await ask("undoChange", { id: last });
    const back = { key, name: "gateway", tags: ["new"], vlan: "7", metadata: { ".site": "AMS1", owner: "bob" } };
    assert.deepEqual(
      (changes as { after: JsonValue }[]).map(({ after }) => after),
      [back],
    );
    await upsert({ udm: { key }, setMetadata: { rack: "8" } });
    await upsert({ udm: { key }, setMetadata: { rack: "9", shelf: "1" } });
    await upsert({ udm: { key }, setMetadata: { rack: "10" } });
    const refused = await call("undoChange", { id: store.history.last() - 1 });
    assert.match(message(refused), /"10\.1\.0\.1" was changed since by change \d+, in its metadata "rack"$/);
  });

  test("a change of very many entries is listed and undone in turns", async (t) => {
    const { ask, store } = await startTools(t, "");
    const keys = Array.from({ length: 3000 }, (_, i) => parseKey(`10.0.${i >> 8}.${i & 255}`));
    await store.submit(keys.map((key) => ({ op: "create", key, values: udmEntry("::", { name: "x" }) })));
    const turns = countTurns();
    const { changes } = await ask("listChanges", {});
    const [change] = changes as { number: number; changes: { key: string; after: JsonValue }[] }[];
    turns.stop();
    assert.ok(turns.count > 2 * (3000 / 100), `${turns.count} turns`);
    assert.deepEqual([change?.number, change?.changes.length], [1, 3000]);
    assert.deepEqual(change?.changes[0], { key: "10.0.0.0", after: { key: "10.0.0.0", name: "x" } });
    const dry = await ask("undoChange", { id: 1, dryRun: true });
    assert.equal((dry["changes"] as unknown[]).length, 3000);
    await ask("undoChange", { id: 1 });
    assert.equal(store.current().size, 0);
  });

  test("what others have changed since is not undone, and they are named", async (t) => {
    const { ask, call } = await startTools(t, plan);
    await ask("batchUpsertUdms", { requests: ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((key) => ({ udm: { key } })) });
    await ask("batchUpsertUdms", { requests: [{ udm: { key: "10.0.0.2", name: "mine" } }] });
    await ask("batchDeleteUdms", { keys: ["10.0.0.3"] });
    for (const dryRun of [false, true]) {
      const refused = await call("undoChange", { id: 1, dryRun });
      assert.deepEqual(refusal(refused), ["failed_precondition", "changes[1]", "changes[2]"]);
      assert.match(message(refused), /"10\.0\.0\.2" was changed since by change 2/);
    }
    const unknown = await call("undoChange", { id: 9 });
    assert.deepEqual(refusal(unknown), ["not_found"]);
    assert.match(message(unknown), /changes 1 to 3 are kept/);
    assert.deepEqual(refusal(await call("undoChange", {})), ["invalid_argument", "id"]);
  });

  test("a change too big for its entries says so", async (t) => {
    const { ask, call } = await startTools(t, "", { historyBytes: 2000 });
    const requests = Array.from({ length: 50 }, (_, i) => ({ udm: { key: `10.0.0.${i}`, name: "x".repeat(50) } }));
    await ask("batchUpsertUdms", { requests });
    const { changes } = await ask("listChanges", {});
    assert.deepEqual(
      (changes as Record<string, JsonValue>[]).map(({ cut, entries }) => [cut, entries]),
      [[true, 50]],
    );
    assert.deepEqual(refusal(await call("undoChange", { id: 1 })), ["failed_precondition"]);
  });
});

suite("batches", { concurrency: true }, () => {
  const entryOf = async ({ ask }: ToolsFixture, key: string): Promise<JsonValue> => {
    const { udms } = await ask("searchUdms", { filter: `key in ${key}` });
    return ((udms ?? []) as JsonValue[])[0] ?? null;
  };

  test("tags and metadata change singly, values by mask, contexts and fields of the file stay", async (t) => {
    const tools = await startTools(t, plan);
    const { ask } = tools;
    const upsert = (request: JsonValue, updateMask?: string): Promise<unknown> =>
      ask("batchUpsertUdms", { requests: [request], ...(updateMask !== undefined && { updateMask }) });
    await upsert({ udm: { key: "2001:db8::/32" }, addTags: ["new", "pci"], removeTags: ["old", "none"] });
    assert.deepEqual(await entryOf(tools, "2001:db8::/32"), {
      key: "2001:db8::/32",
      name: "six",
      tags: ["pci", "new"],
    });
    await upsert({ udm: { key: "10.1.0.1" }, setMetadata: { ".site": "FRA1", rack: "r1" } });
    await upsert({ udm: { key: "10.1.0.1" }, removeMetadata: ["rack"] });
    assert.deepEqual(await entryOf(tools, "10.1.0.1"), {
      key: "10.1.0.1",
      name: "gateway",
      vlan: "7",
      metadata: { ".site": "FRA1" },
    });
    await upsert({ udm: { key: "10.1.0.0/16", name: "changed", tags: ["ignored"] } }, "name");
    const office = { key: "10.1.0.0/16", name: "changed", contexts: ["endpoint"], otherFields: "owner: bob\n" };
    assert.deepEqual(await entryOf(tools, "10.1.0.0/16"), office);
    await upsert({ udm: { key: "10.1.0.0/16", contexts: ["exporter"] } }, "contexts");
    assert.deepEqual(await entryOf(tools, "10.1.0.0/16"), { ...office, contexts: ["exporter"] });
    await upsert({ udm: { key: "10.1.0.0/16" } }, "contexts");
    assert.deepEqual(await entryOf(tools, "10.1.0.0/16"), {
      key: "10.1.0.0/16",
      name: "changed",
      otherFields: "owner: bob\n",
    });
    assert.match(tools.io.text("/memory/ipaddrs.yml") ?? "", /name: changed\n {2}owner: bob\n/);
  });

  test("a dry run answers the same and changes nothing", async (t) => {
    const { ask, store } = await startTools(t, plan);
    const request = { requests: [{ udm: { key: "10.0.0.0/8", name: "ten" } }, { udm: { key: "1.1.1.1" } }] };
    const dry = await ask("batchUpsertUdms", { ...request, dryRun: true });
    assert.deepEqual([dry["created"], dry["updated"], dry["change"], store.current().size], [1, 1, undefined, 5]);
    const wet = await ask("batchUpsertUdms", request);
    assert.deepEqual({ ...wet, change: undefined }, { ...dry, change: undefined });
  });

  test("all faults are reported at once, with their places, and nothing is done", async (t) => {
    const { call, store } = await startTools(t, plan, { maxBatchSize: 5 });
    const requests = [
      { udm: { key: "x", tags: [""], contexts: ["src"] } },
      {},
      { udm: { key: "10.0.0.1" }, addTags: ["ok", ""], setMetadata: { "a b": "1" } },
      { udm: { key: "10.0.0.2" } },
    ];
    const refused = await call("batchUpsertUdms", { requests });
    assert.deepEqual(refusal(refused), [
      "invalid_argument",
      "requests[0].udm.key",
      "requests[0].udm.tags[0]",
      "requests[0].udm.contexts[0]",
      "requests[1].udm",
      "requests[2].add_tags[1]",
      'requests[2].set_metadata["a b"]',
    ]);
    for (const dryRun of [true, false]) {
      const twice = { requests: ["10.0.0.2", "10.0.0.2"].map((key) => ({ udm: { key } })), dryRun };
      assert.deepEqual(refusal(await call("batchUpsertUdms", twice)), ["invalid_argument", "requests[1].key"]);
    }
    assert.deepEqual(refusal(await call("batchUpsertUdms", { requests: [], updateMask: "nam" })), [
      "invalid_argument",
      "update_mask",
    ]);
    assert.deepEqual(refusal(await call("batchDeleteUdms", { keys: ["", "10.0.0.0/8", "y"] })), [
      "invalid_argument",
      "keys[0]",
      "keys[2]",
    ]);
    const many = Array.from({ length: 6 }, (_, i) => `10.0.0.${i}`);
    assert.deepEqual(refusal(await call("batchDeleteUdms", { keys: many, ignoreMissing: true })), [
      "resource_exhausted",
    ]);
    assert.equal(store.current().size, 5);
    assert.equal(store.history.last(), 0);
  });
});

test("lists of a request are bounded, a layer is refused, and the error of a mask names contexts", async (t) => {
  const { call, ask } = await startTools(t, plan);
  const many = Array.from({ length: 1025 }, (_, i) => `t${i}`);
  const fields = async (request: JsonValue): Promise<unknown[]> =>
    refusal(await call("batchUpsertUdms", { requests: [request] }));
  const udm = { key: "10.0.0.1" };
  assert.deepEqual(await fields({ udm, addTags: many }), ["invalid_argument", "requests[0].add_tags"]);
  assert.deepEqual(await fields({ udm, removeTags: many }), ["invalid_argument", "requests[0].remove_tags"]);
  assert.deepEqual(await fields({ udm, removeMetadata: many }), ["invalid_argument", "requests[0].remove_metadata"]);
  const contexts = many.map(() => "exporter");
  assert.deepEqual(await fields({ udm: { ...udm, contexts } }), ["invalid_argument", "requests[0].udm.contexts"]);
  assert.deepEqual(await fields({ udm: { ...udm, layer: "netbox" } }), ["invalid_argument", "requests[0].udm.layer"]);
  const replaced = await call("replaceUdms", { scope: { all: true }, udms: [{ ...udm, layer: "netbox" }] });
  assert.deepEqual(refusal(replaced), ["invalid_argument", "udms[0].layer"]);
  const masked = await call("batchUpsertUdms", { requests: [{ udm }], updateMask: "nme" });
  assert.match(message(masked), /"nme" is not a field: expected name, tags, vlan, internal, metadata, contexts$/);
  const mask = { requests: [{ udm }], updateMask: many.map(() => "name").join(",") };
  assert.match(message(await call("batchUpsertUdms", mask)), /update_mask has 1025 names, more than 1024/);
  // Added singly, again and again.
  const add = (from: number, to: number): JsonValue => ({ requests: [{ udm, addTags: many.slice(from, to) }] });
  await ask("batchUpsertUdms", add(0, 1000));
  const grown = await call("batchUpsertUdms", add(1000, 1025));
  assert.match(message(grown), /the 1025 tags of key "10\.0\.0\.1" are more than 1024/);
});

suite("replacing", { concurrency: true }, () => {
  const site = (keys: readonly string[]): JsonValue[] => keys.map((key) => ({ key, metadata: { site: "A" } }));

  test("a scope becomes what is given, the others stay", async (t) => {
    const { ask, store } = await startTools(t, plan);
    const udms = [
      { key: "10.0.0.0/8", name: "ten", tags: ["pci"] },
      { key: "10.2.0.0/16", tags: ["pci"] },
      { key: "2001:db8::/32", name: "VI", tags: ["pci", "old"] },
    ];
    const request = { udms, scope: { tag: "pci" } };
    const dry = await ask("replaceUdms", { ...request, dryRun: true });
    assert.deepEqual(keysOf(dry, "changes"), ["2001:db8::/32", "10.2.0.0/16"]);
    assert.deepEqual([dry["created"], dry["updated"], dry["deleted"], dry["unchanged"]], [1, 1, undefined, 1]);
    assert.equal(store.history.last(), 0);
    assert.deepEqual({ ...(await ask("replaceUdms", request)), change: 0 }, { ...dry, change: 0 });
    assert.equal(store.current().size, 6);
    assert.deepEqual(await ask("replaceUdms", request), { unchanged: 3 });
  });

  test("replacements among writers without end are made, each as a whole, and no write is lost", async (t) => {
    const scope = { within: "10.1.0.0/16" };
    const names = fc.dictionary(
      fc.integer({ min: 1, max: 12 }).map((i) => `10.1.0.${i}`),
      fc.constantFrom("a", "b"),
    );
    const property = fc.asyncProperty(fc.array(names, { minLength: 1, maxLength: 4 }), async (wanted) => {
      const { ask, store } = await startTools(t, "");
      const over = new AbortController();
      const acknowledged = new Map<string, string>();
      const write = async (key: string): Promise<void> => {
        for (let i = 0; !over.signal.aborted; i++) {
          const entry = udmEntry(key, { name: `${i}` });
          await store.submit([{ op: "edit", key: entry.key, edit: () => ({ entry }) }]);
          acknowledged.set(key, `${i}`);
          await nextTurn();
        }
      };
      // Two within the scope, others elsewhere.
      const writers = ["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2", "2001:db8::1"].map(write);
      const byChange = new Map<number, Record<string, string>>();
      for (const all of wanted) {
        const udms = Object.entries(all).map(([key, name]) => ({ key, name }));
        const { change = 0 } = await ask("replaceUdms", { scope, udms, maxDeletes: "100%" });
        byChange.set(change as number, all);
      }
      over.abort();
      await Promise.all(writers);
      const state = new Map<string, string>();
      for (const { number, changes } of (await store.history.list({ limit: 1e6 })).toReversed()) {
        for (const { before, after } of changes) {
          const key = (after ?? before)?.key.text ?? "";
          assert.equal(before?.name, state.get(key), `change ${number} was made for another state`);
          if (after === undefined) state.delete(key);
          else state.set(key, after.name);
        }
        const all = byChange.get(number);
        if (all === undefined) continue;
        const inScope = [...state].filter(([key]) => key.startsWith("10.1."));
        assert.deepEqual(Object.fromEntries(inScope), { ...all });
      }
      for (const [key, name] of acknowledged) if (!key.startsWith("10.1.")) assert.equal(state.get(key), name);
    });
    await fc.assert(property, runs(3));
  });

  test("fields of the file stay with an entry, its contexts when none are given", async (t) => {
    const { ask, store } = await startTools(t, plan);
    const scope = { within: "10.1.0.0/16" };
    const udms = (contexts: string[]): JsonValue => [
      { key: "10.1.0.0/16", name: "office", contexts },
      { key: "10.1.0.1", name: "g" },
    ];
    assert.equal((await ask("replaceUdms", { udms: udms([]), scope }))["updated"], 1);
    assert.equal((await ask("replaceUdms", { udms: udms(["exporter"]), scope }))["updated"], 1);
    const office = store.current().get(parseKey("10.1.0.0/16"));
    assert.equal(office?.fileOnly?.yaml, "  contexts:\n    - exporter\n  owner: bob\n");
  });

  test("more deletions than allowed are refused, and so is what is outside of the scope", async (t) => {
    const { ask, call, store } = await startTools(t, plan);
    const ten = Array.from({ length: 10 }, (_, i) => `172.16.0.${i}`);
    const scope = { metadataName: "site", metadataValue: "A" };
    await ask("replaceUdms", { udms: site(ten), scope });
    const refused = await call("replaceUdms", { udms: site(ten.slice(3)), scope });
    assert.deepEqual(refusal(refused), ["failed_precondition"]);
    assert.match(message(refused), /3 of 10 entries would be deleted.*20% allows 2/);
    assert.equal((await ask("replaceUdms", { udms: site(ten.slice(3)), scope, dryRun: true }))["deleted"], 3);
    assert.equal((await ask("replaceUdms", { udms: site(ten.slice(2)), scope }))["deleted"], 2);
    assert.equal((await ask("replaceUdms", { udms: [], scope, maxDeletes: "100%" }))["deleted"], 8);
    assert.equal(store.current().size, 5);
    const strangers = await call("replaceUdms", { udms: site(["10.1.0.1", "172.16.0.1", "192.0.2.0/24"]), scope });
    assert.deepEqual(refusal(strangers), ["failed_precondition", "udms[0].key", "udms[2].key"]);
  });

  test("faults name their places", async (t) => {
    const { call } = await startTools(t, plan);
    const udms = [{ key: "10.0.0.1" }, { key: "10.0.0.1" }, { key: "11.0.0.1" }, { key: "" }];
    const refused = await call("replaceUdms", { udms, scope: { within: "10.0.0.0/8" } });
    assert.deepEqual(refusal(refused), ["invalid_argument", "udms[1].key", "udms[2].key", "udms[3].key"]);
    for (const scope of [{}, { all: true, tag: "x" }, { metadataValue: "x" }]) {
      assert.deepEqual(refusal(await call("replaceUdms", { scope })), ["invalid_argument", "scope"]);
    }
    assert.deepEqual(refusal(await call("replaceUdms", { scope: { within: "x" } })), [
      "invalid_argument",
      "scope.within",
    ]);
    for (const maxDeletes of ["x", "1.5", "101%", "-1"]) {
      const outcome = await call("replaceUdms", { scope: { all: true }, maxDeletes });
      assert.deepEqual(refusal(outcome), ["invalid_argument", "max_deletes"], maxDeletes);
    }
  });

  test("long answers come whole by JSON and protobuf", async (t) => {
    for (const kind of ["REST HTTP/1.1", "gRPC HTTP/2"] as const) {
      const { ask } = await startTools(t, "", { kind });
      const udms = Array.from({ length: 350 }, (_, i) => ({ key: `10.0.${i >> 8}.${i & 255}`, name: `n${i}` }));
      const answer = await ask("replaceUdms", { udms, scope: { all: true } });
      assert.deepEqual(
        keysOf(answer, "changes"),
        udms.map(({ key }) => key),
      );
      assert.equal(answer["created"], 350);
    }
  });
});

test("an export by protobuf is counted in turns before it is sent", async (t) => {
  const { store, api } = await startTools(t, "");
  const keys = Array.from({ length: 30_000 }, (_, i) => parseKey(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`));
  await store.submit(keys.map((key) => ({ op: "create", key, values: udmEntry("::", { name: "x".repeat(20) }) })));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const response = await fetch(`${api.url}/udm.v1.UdmToolsService/ExportUdms`, {
    method: "POST",
    headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
    body: toBinary(ExportUdmsRequestSchema, create(ExportUdmsRequestSchema, { format: "ndjson" })),
  });
  const { text, entries } = fromBinary(ExportUdmsResponseSchema, new Uint8Array(await response.arrayBuffer()));
  isOver = true;
  assert.deepEqual([entries, text.split("\n").length], [30_000, 30_001]);
  // Each of both passes gives others a turn after each piece of 64 KiB.
  assert.ok(turns > (2 * text.length) / 70_000, `${turns} turns`);
});

suite("exchange", { concurrency: true }, () => {
  const sheet = `Prefix,Tenant,VLAN,Description
10.1.0.0/16,ACME,servers (20),office
10.50.0.0/16,ACME,,new one
`;

  test("a sheet comes in by a map, a day later its changes, and both are undone", async (t) => {
    const { ask, store, io } = await startTools(t, plan);
    const before = io.text("/memory/ipaddrs.yml");
    const map = JSON.stringify({ ready: "netbox", constants: { tags: ["netbox"] } });
    const first = await ask("importUdms", { text: sheet, format: "csv", map });
    assert.deepEqual([first["rows"], first["created"], first["updated"], first["change"]], [2, 1, 1, 1]);
    const office = store.current().get(parseKey("10.1.0.0/16"));
    assert.deepEqual([office?.vlan, office?.tags, office?.metadata.get(".tenant.name")], [20n, ["netbox"], "ACME"]);
    assert.equal(office?.fileOnly?.yaml, "  contexts:\n    - endpoint\n  owner: bob\n");
    const nextDay = `${sheet.replace("new one", "newer").replace(/10\.1\.0\.0.*\n/, "")}10.60.0.0/16,B,,\n`;
    const request = { text: nextDay, format: "csv", map, scope: { tag: "netbox" }, maxDeletes: "1" };
    const dry = await ask("importUdms", { ...request, dryRun: true });
    assert.deepEqual(keysOf(dry, "changes"), ["10.1.0.0/16", "10.50.0.0/16", "10.60.0.0/16"]);
    assert.deepEqual({ ...(await ask("importUdms", request)), change: 0 }, { ...dry, change: 0 });
    assert.equal(store.current().size, 6);
    await ask("undoChange", { id: 2 });
    await ask("undoChange", { id: 1 });
    assert.equal(io.text("/memory/ipaddrs.yml"), before);
  });

  test("an import of what is there already saves nothing, and one of a change saves that", async (t) => {
    const { ask, store, io } = await startTools(t, "");
    const path = "/memory/ipaddrs.yml";
    const text = (name: string): string => `key,name,tags\n10.0.0.1,a,"x,y"\n10.0.0.2,${name},\n`;
    const importSheet = (name: string): Promise<Record<string, JsonValue>> =>
      ask("importUdms", { text: text(name), format: "csv", map: "sheet" });
    assert.equal((await importSheet("b"))["created"], 2);
    const { version } = store.current();
    const { inode } = await io.state(path);
    assert.deepEqual(await importSheet("b"), { unchanged: 2, rows: 2 });
    assert.equal(store.current().version, version);
    assert.equal((await io.state(path)).inode, inode);
    assert.equal((await importSheet("c"))["updated"], 1);
    assert.match(String(io.text(path)), /10\.0\.0\.2:\n {2}name: c\n/);
  });

  test("an expression that never ends holds nothing else up, and is named", async (t) => {
    const { call, api } = await startTools(t, plan, { select: createSelect({ timeout: 1_000 }) });
    const text = JSON.stringify({ text: `${"a".repeat(200)}!` });
    const importing = call("importUdms", { text, format: "json", select: "$match(text, /^(a+)+$/)" });
    let answered = 0;
    const isOver = importing.then(() => true);
    while (!(await Promise.race([isOver, fetch(`${api.url}/livez`).then(() => false)]))) answered++;
    // A busy host answers few; one that is held up none until the end.
    assert.ok(answered > 2, `${answered} other requests answered`);
    assert.deepEqual(refusal(await importing), ["invalid_argument", "select"]);
    assert.match(JSON.stringify(await importing), /the selection did not end within 1 s/);
  });

  test("all faults are reported with row and column; rows without faults come in when asked for", async (t) => {
    const { ask, call, store } = await startTools(t, plan);
    const text = "key,name,vlan\n10.9.0.0/16,a,x\nno key,b,2\n10.8.0.0/16,c,3\n";
    const request = { text, format: "csv" };
    const refused = await call("importUdms", request);
    assert.deepEqual(refusal(refused), ["invalid_argument", 'row 2, column "vlan", vlan', 'row 3, column "key", key']);
    const dry = await ask("importUdms", { ...request, dryRun: true });
    assert.deepEqual([dry["faultCount"], dry["rows"], dry["created"]], [2, 3, 1]);
    assert.deepEqual(
      (dry["faults"] as Record<string, JsonValue>[]).map(({ row, column }) => [row, column]),
      [
        [2, "vlan"],
        [3, "key"],
      ],
    );
    assert.equal(store.history.last(), 0);
    assert.equal((await ask("importUdms", { ...request, skipFaultyRows: true }))["created"], 1);
    assert.deepEqual(refusal(await call("importUdms", { text, format: "xls" })), ["invalid_argument", "format"]);
    assert.deepEqual(refusal(await call("importUdms", { text, format: "csv", map: "netbx" })), [
      "invalid_argument",
      "map",
    ]);
    assert.deepEqual(refusal(await call("importUdms", { text, format: "csv", map: "{" })), ["invalid_argument", "map"]);
    const outside = { text: "key\n10.9.0.0/16\n", format: "csv", scope: { within: "192.0.2.0/24" } };
    assert.deepEqual(refusal(await call("importUdms", outside)), ["invalid_argument", "10.9.0.0/16"]);
  });

  test("what goes out comes back as it was, in each format, by JSON and protobuf", async (t) => {
    for (const kind of ["REST HTTP/1.1", "Connect binary HTTP/1.1", "gRPC HTTP/2"] as const) {
      for (const format of ["csv", "json", "ndjson", "yaml"]) {
        const { ask, store } = await startTools(t, plan, { kind });
        const { text = "", entries } = await ask("exportUdms", { format });
        assert.equal(entries, 5);
        const back = await ask("importUdms", { text, format, scope: { all: true } });
        assert.deepEqual(back, { unchanged: 5, rows: 5 }, format);
        assert.equal(store.history.last(), 0);
      }
    }
    const { ask, call } = await startTools(t, plan);
    const { text } = await ask("exportUdms", { format: "ndjson", filter: "tag = pci", text: "SIX" });
    assert.equal(text, '{"key":"2001:db8::/32","name":"six","tags":["pci","old"]}\n');
    assert.deepEqual(await ask("exportUdms", { format: "csv", filter: "vlan = 99" }), {
      text: "key,name,tags,vlan,internal\r\n",
    });
    assert.deepEqual(refusal(await call("exportUdms", {})), ["invalid_argument", "format"]);
  });
});

test("an upsert that expects an entry as it was is refused when others have changed it, also in a dry run", async (t) => {
  const { ask, call } = await startTools(t, plan);
  const expected = { key: "10.1.0.1", name: "gateway", vlan: "7", metadata: { ".site": "AMS1" } };
  const request = (name: string, known: JsonValue): JsonValue => ({
    requests: [{ udm: { key: "10.1.0.1", name }, expected: known }, { udm: { key: "10.7.7.7" } }],
    updateMask: "name",
  });
  await ask("batchUpsertUdms", request("gw", expected));
  for (const dryRun of [false, true]) {
    const late = await call("batchUpsertUdms", { ...(request("other", expected) as object), dryRun });
    assert.equal(late.code, "failed_precondition");
    assert.match(message(late), /"10\.1\.0\.1" was changed meanwhile/);
  }
  await ask("batchUpsertUdms", request("gw2", { ...expected, name: "gw" }));
  const contexts = { key: "10.1.0.0/16", name: "office", contexts: ["endpoint"] };
  await ask("batchUpsertUdms", { requests: [{ udm: { key: "10.1.0.0/16" }, addTags: ["x"], expected: contexts }] });
  await ask("batchDeleteUdms", { keys: ["10.1.0.1"] });
  const gone = await call("batchUpsertUdms", request("gw3", { ...expected, name: "gw2" }));
  assert.match(message(gone), /is gone meanwhile/);
  await ask("batchUpsertUdms", { requests: [{ udm: { key: "10.8.0.1" }, expected: {} }] });
  const there = await call("batchUpsertUdms", { requests: [{ udm: { key: "10.8.0.1", name: "x" }, expected: {} }] });
  assert.match(message(there), /"10\.8\.0\.1" was created meanwhile/);
});

test("what imports and replacements do is shown while they do it", async (t) => {
  const seen: string[] = [];
  const progress = new Progress(systemClock);
  const begin = progress.begin.bind(progress);
  progress.begin = (task) => {
    const begun = begin(task);
    return {
      ...begun,
      step: (name, unit, total) => (
        seen.push(`${task.kind} ${name} ${total ?? "?"} ${unit}`),
        begun.step(name, unit, total)
      ),
    };
  };
  const { ask, call } = await startTools(t, plan, { progress });
  await ask("importUdms", { text: "key,name\n10.2.0.1,a\n", format: "csv" });
  await ask("replaceUdms", { udms: [{ key: "10.2.0.1" }], scope: { within: "10.2.0.0/16" }, dryRun: true });
  assert.equal((await call("importUdms", { text: "key\nx\n", format: "csv" })).code, "invalid_argument");
  assert.deepEqual(seen, [
    "import reading 20 characters",
    "import comparing 1 entries",
    "import saving 1 entries",
    "replace-check reading 1 entries",
    "replace-check comparing 6 entries",
    "import reading 6 characters",
  ]);
  assert.deepEqual(progress.tasks(), []);
  const text = "key\n10.3.0.1\n10.3.0.2\n10.3.0.3\n";
  const { created, changes } = await ask("importUdms", { text, format: "csv", dryRun: true, mostChanges: 2 });
  assert.deepEqual([created, keysOf({ changes: changes ?? [] }, "changes")], [3, ["10.3.0.1", "10.3.0.2"]]);
});
