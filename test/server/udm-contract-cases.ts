// What every method does, whatever the transport: each case calls the methods of an empty database.
import assert from "node:assert/strict";
import type { JsonValue } from "@bufbuild/protobuf";
import type { ApiServerOptions } from "../../src/server/index.ts";
import type { MemoryStore } from "../support/memory-store.ts";
import type { Outcome, UdmClient } from "./udm-clients.ts";

export interface ContractCase {
  readonly title: string;
  readonly options: Partial<ApiServerOptions>;
  readonly run: (
    call: UdmClient["call"],
    api: { readonly store: Pick<MemoryStore, "failCommits" | "breakState"> },
  ) => Promise<void>;
}

const cases: ContractCase[] = [];
export const contractCases: readonly ContractCase[] = cases;

function check(title: string, run: ContractCase["run"], options: Partial<ApiServerOptions> = {}): void {
  cases.push({ title, run, options });
}

const full: JsonValue = {
  key: "10.0.0.0/8",
  name: "ten",
  tags: ["b", "a", "b"],
  vlan: "18446744073709551615",
  internal: true,
  metadata: { ".site": "ams", __proto__x: "1", ["__proto__"]: "kept" },
};

check("an entry is created, counted, listed, changed and deleted", async (call) => {
  assert.deepEqual(await call("countUdms", {}), ok({}));
  assert.deepEqual(await call("listUdms", {}), ok({}));
  assert.deepEqual(await call("createUdm", { udm: full }), ok(full));
  assert.deepEqual(await call("countUdms", {}), ok({ count: 1 }));
  assert.deepEqual(await call("listUdms", {}), ok({ udms: [full] }));
  assert.deepEqual(await call("listUdmKeys", {}), ok({ keys: ["10.0.0.0/8"] }));
  const changed = { ...full, name: "new", tags: [] };
  const { tags: _, ...shown } = changed;
  const update = { udm: { key: "10.0.0.0/8", name: "new" }, updateMask: "name,tags" };
  assert.deepEqual(await call("updateUdm", update), ok(shown));
  assert.deepEqual(await call("updateUdm", { udm: { key: "10.0.0.0/8" } }), ok({ key: "10.0.0.0/8" }));
  assert.deepEqual(await call("deleteUdm", { key: "10.0.0.0/8" }), ok({}));
  assert.deepEqual(await call("countUdms", {}), ok({}));
});

check("batches are created and changed as one", async (call) => {
  const udms = [{ key: "10.0.0.1", name: "a" }, { key: "2001:DB8::0" }];
  const shown = [{ key: "10.0.0.1", name: "a" }, { key: "2001:db8::" }];
  assert.deepEqual(await call("batchCreateUdms", { requests: udms.map((udm) => ({ udm })) }), ok({ udms: shown }));
  const request = {
    requests: [{ udm: { key: "2001:db8::", name: "n", vlan: "7" }, updateMask: "vlan" }, { udm: { key: "10.0.0.1" } }],
    updateMask: "name",
  };
  const changed = [{ key: "2001:db8::", name: "n" }, { key: "10.0.0.1" }];
  assert.deepEqual(await call("batchUpdateUdms", request), ok({ udms: changed }));
  assert.deepEqual(await call("batchCreateUdms", {}), ok({}));
  assert.deepEqual(await call("batchUpdateUdms", {}), ok({}));
});

check(
  "a batch has a bound that the refusal names",
  async (call) => {
    const requests = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((key) => ({ udm: { key } }));
    for (const method of ["batchCreateUdms", "batchUpdateUdms"] as const) {
      const refused = await call(method, { requests });
      assert.deepEqual(outline(refused), ["resource_exhausted", []]);
      assert.match(message(refused), /3 entries.*SVC_API_MAX_BATCH_SIZE.* 2/);
    }
    assert.equal((await call("batchCreateUdms", { requests: requests.slice(1) })).code, "ok");
    assert.deepEqual(await call("countUdms", {}), ok({ count: 2 }));
  },
  { maxBatchSize: 2 },
);

check("lists follow the matching rules", async (call) => {
  const keys = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.1.2.0-10.1.2.255", "10.1.2.9/24", "11.0.0.0/8"];
  await call("batchCreateUdms", { requests: keys.map((key) => ({ udm: { key } })) });
  const keysOf = async (key: string, exact = false): Promise<unknown> => call("listUdmKeys", { key, exact });
  const covering = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.9/24", "10.1.2.0-10.1.2.255", "10.1.2.3"];
  assert.deepEqual(await keysOf("10.1.2.3"), ok({ keys: covering }));
  assert.deepEqual(await keysOf("10.1.77.7/16"), ok({ keys: covering.slice(1) }));
  assert.deepEqual(await keysOf("10.1.2.0-10.1.2.254"), ok({ keys: ["10.1.2.3"] }));
  assert.deepEqual(await keysOf("10.1.2.9/24", true), ok({ keys: ["10.1.2.9/24"] }));
  assert.deepEqual(await keysOf("10.1.2.0/24", true), ok({}));
  assert.deepEqual(await keysOf("", true), ok({ keys: ["10.0.0.0/8", ...covering.slice(1), "11.0.0.0/8"] }));
});

check("refusals carry code, key and fields", async (call) => {
  await call("createUdm", { udm: { key: "10.0.0.1" } });
  const again = await call("createUdm", { udm: { key: "10.0.0.1" } });
  assert.deepEqual(outline(again), ["already_exists", ["udm.key"]]);
  assert.match(message(again), /10\.0\.0\.1/);
  assert.deepEqual(outline(await call("updateUdm", { udm: { key: "10.0.0.2" } })), ["not_found", ["udm.key"]]);
  assert.deepEqual(outline(await call("deleteUdm", { key: "10.0.0.2" })), ["not_found", ["key"]]);
  for (const method of ["listUdms", "listUdmKeys", "deleteUdm"] as const) {
    const bad = await call(method, { key: "10.0.0.256" });
    assert.deepEqual(outline(bad), ["invalid_argument", ["key"]]);
    assert.match(message(bad), /"10\.0\.0\.256"/);
  }
  assert.deepEqual(outline(await call("createUdm", {})), ["invalid_argument", ["udm"]]);
  assert.deepEqual(outline(await call("updateUdm", { udm: { name: "x" } })), ["invalid_argument", ["udm.key"]]);
  const batch = { requests: [{ udm: { key: "10.0.0.3" } }, { udm: { key: "x", name: "\u0000" } }, {}] };
  assert.deepEqual(outline(await call("batchCreateUdms", batch)), [
    "invalid_argument",
    ["requests[1].udm.key", "requests[1].udm.name", "requests[2].udm"],
  ]);
  const twice = { requests: [{ udm: { key: "10.0.0.3" } }, { udm: { key: "10.0.0.3" } }] };
  const refusedTwice = await call("batchCreateUdms", twice);
  assert.deepEqual(outline(refusedTwice), ["invalid_argument", ["requests[1].udm.key"]]);
  assert.match(message(refusedTwice), /^requests\[1\]\.udm\.key: key "10\.0\.0\.3" is already in the batch/);
  const half = { requests: [{ udm: { key: "10.0.0.1" } }, { udm: { key: "10.0.0.9" } }] };
  assert.deepEqual(outline(await call("batchUpdateUdms", half)), ["not_found", ["requests[1].udm.key"]]);
  assert.deepEqual(await call("countUdms", {}), ok({ count: 1 }));
});

check("masks: names of fields only, key does nothing", async (call) => {
  const udm = { key: "10.0.0.1", name: "n", tags: ["t"] };
  await call("createUdm", { udm });
  assert.deepEqual(await call("updateUdm", { udm: { key: "10.0.0.1" }, updateMask: "key" }), ok(udm));
  for (const mask of ["metadata.site", "nonsense", "name,tag"]) {
    const bad = await call("updateUdm", { udm, updateMask: mask });
    assert.deepEqual(outline(bad), ["invalid_argument", ["update_mask"]], mask);
  }
  // What the mask leaves out is not looked at.
  const hidden = { udm: { key: "10.0.0.1", name: "\u0001", tags: ["u"] }, updateMask: "tags" };
  assert.deepEqual(await call("updateUdm", hidden), ok({ ...udm, tags: ["u"] }));
});

check("a store that fails answers unavailable", async (call, { store }) => {
  store.failCommits("cannot save /ipaddrs.yml: no space");
  const failed = await call("createUdm", { udm: { key: "10.0.0.1" } });
  assert.deepEqual([failed.code, message(failed)], ["unavailable", "cannot save /ipaddrs.yml: no space"]);
  store.breakState("/ipaddrs.yml:3:1: bad key");
  for (const method of ["countUdms", "listUdms", "listUdmKeys"] as const) {
    const broken = await call(method, {});
    assert.deepEqual([broken.code, message(broken)], ["unavailable", "/ipaddrs.yml:3:1: bad key"]);
  }
});

check(
  "without the settings every method is unimplemented and says which is missing",
  async (call) => {
    const requests = { key: "10.0.0.1", udm: { key: "10.0.0.1" }, requests: [] };
    const methods = {
      countUdms: {},
      listUdms: {},
      listUdmKeys: {},
      createUdm: { udm: requests.udm },
      batchCreateUdms: { requests: [] },
      updateUdm: { udm: requests.udm },
      batchUpdateUdms: { requests: [] },
      deleteUdm: { key: "10.0.0.1" },
    } as const;
    for (const [method, request] of Object.entries(methods)) {
      const refused = await call(method as keyof typeof methods, request as JsonValue);
      assert.deepEqual([refused.code, message(refused)], ["unimplemented", "set SVC_X"], method);
    }
  },
  { udm: { disabled: "set SVC_X" } },
);

function ok(answer: JsonValue): Outcome {
  return { code: "ok", answer };
}

function outline(outcome: Outcome): unknown {
  return "fields" in outcome ? [outcome.code, outcome.fields] : outcome;
}

function message(outcome: Outcome): string {
  return "message" in outcome ? outcome.message : "";
}
