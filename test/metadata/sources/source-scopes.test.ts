// Sources whose rows name scopes: what they say of a VRF or tenant counts in its scope alone.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher } from "../../../src/enrich/index.ts";
import { nodeFileIo } from "../../../src/base/file/index.ts";
import { parseKey } from "../../../src/base/ip/index.ts";
import { createMetrics, silentLog, systemClock } from "../../../src/base/report/index.ts";
import type { RecordFields } from "../../../src/record/index.ts";
import { allTests, cleanUp } from "../../support/clean-up.ts";
import { faultFileIo } from "../../support/fault-file-io.ts";
import { runs } from "../../support/runs.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { udmEntry } from "../../support/udm-entry.ts";
import { until } from "../../support/until.ts";
import { startSources, startStandIn, type Rig, type StandIn } from "./source-rig.ts";

const all = allTests();

interface Prefix {
  readonly prefix: string;
  readonly description: string;
  readonly vrf?: { readonly name: string; readonly rd: string | null };
  readonly tenant?: { readonly slug: string; readonly name: string };
}

/** A NetBox with these prefixes; undefined: it is away. */
interface FakeNetbox {
  prefixes: readonly Prefix[] | undefined;
  readonly server: StandIn;
}

async function startNetbox(prefixes: readonly Prefix[]): Promise<FakeNetbox> {
  let changes = 0;
  const server = await startStandIn((_, url, response) => {
    const { prefixes: given } = fake;
    if (given === undefined || url.pathname !== "/api/ipam/prefixes/") {
      response.statusCode = 503;
      return {};
    }
    // All is newer than whatever was read before.
    const updated = `2026-01-01T00:00:${String(changes++ % 60).padStart(2, "0")}Z`;
    const results = given.map((prefix, id) => Object.assign({ id, last_updated: updated }, prefix));
    return { count: results.length, next: null, results };
  });
  cleanUp(all, () => server.close());
  const fake: FakeNetbox = { prefixes, server };
  return fake;
}

const red = { name: "Red", rd: "65000:17" };
const blue = { name: "Blue", rd: null };
const byVrf = "{ready: netbox, columns: {vrf.name: {to: scope, values: {Red: acme, Blue: beta}, optional: true}}}";
const twoScopes = "acme:\n  entries: acme.yml\nbeta: {}\n";

async function start(netbox: FakeNetbox, options: Parameters<typeof startSources>[1], map = byVrf): Promise<Rig> {
  const yaml = `- {kind: netbox, url: "${netbox.server.url}", objects: prefixes, map: ${map}, guard: {max_shrink: 90%}}`;
  const rig = await startSources(yaml, options);
  cleanUp(all, () => rig.stop());
  return rig;
}

const names = (rig: Rig, scope?: string): unknown[] =>
  rig.entries("netbox", scope).map((entry) => (entry as { name: string }).name);

suite("rows that name a scope", () => {
  test("of a VRF count in its scope alone, behind what people write of it, before all that is global", async () => {
    const netbox = await startNetbox([
      { prefix: "10.0.0.0/8", description: "everywhere" },
      { prefix: "10.0.0.0/8", description: "red net", vrf: red },
      { prefix: "10.1.0.0/16", description: "red site", vrf: red },
      { prefix: "10.0.0.0/8", description: "blue net", vrf: blue },
    ]);
    const rig = await start(netbox, { scopes: twoScopes });
    const { run, entries } = await rig.run("netbox");
    assert.deepEqual([run?.result, run?.reason, run?.faults, entries], ["updated", undefined, [], 4]);
    assert.deepEqual(names(rig), ["everywhere"]);
    assert.deepEqual(names(rig, "acme"), ["red net", "red site"]);
    assert.deepEqual(names(rig, "beta"), ["blue net"], "a scope needs no file of entries for it");

    const enricher = new AddressEnricher({
      watch: rig.store.watchAddresses,
      ttlMs: 1_000_000,
      invalidate: true,
      maxCached: 100,
      clock: systemClock,
      metrics: createMetrics(),
      log: silentLog,
    });
    cleanUp(all, () => enricher.stop());
    await enricher.start();
    const nameIn = (scope: string | undefined, address: string): unknown => {
      const record: RecordFields = new Map([["flow.src.ip.addr", address]]);
      if (scope === undefined) enricher.enrich(record);
      else enricher.enrichIn(scope, record);
      return record.get("flow.src.ip.subnet.name");
    };
    assert.deepEqual(
      [undefined, "acme", "beta"].map((scope) => nameIn(scope, "10.1.2.3")),
      ["everywhere", "red site", "blue net"],
    );
    const acme = rig.scopes?.store("acme");
    assert.ok(acme !== undefined && !("disabled" in acme));
    const written = (key: string, name: string): Promise<unknown> =>
      acme.commit([{ op: "create", key: parseKey(key), values: udmEntry(key, { name }) }]);
    await written("10.1.0.0/16", "by hand");
    assert.equal(nameIn("acme", "10.1.2.3"), "by hand");
    assert.deepEqual(
      acme.layers
        .covering({ family: 4, value: parseKey("10.1.2.3").first })
        .map(({ layer, entry, isGlobal = false }) => [layer, entry.name, isGlobal]),
      [
        [undefined, "by hand", false],
        ["netbox", "red site", false],
        ["netbox", "red net", false],
        ["netbox", "everywhere", true],
      ],
    );
    await written("10.0.0.0/8", "wider by hand");
    assert.equal(nameIn("acme", "10.2.2.3"), "wider by hand", "of equal keys the person's");

    netbox.prefixes = [
      { prefix: "10.0.0.0/8", description: "everywhere" },
      { prefix: "10.1.0.0/16", description: "moved", vrf: blue },
    ];
    rig.now += 86_400_000;
    const moved = await rig.run("netbox");
    assert.deepEqual(moved.run?.changes, { added: 1, changed: 0, removed: 3, unchanged: 1 });
    assert.deepEqual([names(rig, "acme"), names(rig, "beta")], [[], ["moved"]]);
    assert.deepEqual([nameIn("acme", "10.1.2.3"), nameIn("beta", "10.1.2.3")], ["by hand", "moved"]);
  });

  test("of a tenant go by its slug; what is no scope's name is left out and named", async () => {
    const netbox = await startNetbox([
      { prefix: "10.0.0.0/8", description: "one", tenant: { slug: "acme", name: "Acme" } },
      { prefix: "10.0.0.0/8", description: "two", tenant: { slug: "Not one", name: "Other" } },
    ]);
    const map = "{ready: netbox, columns: {tenant.slug: {to: scope, optional: true}}}";
    const rig = await start(netbox, { scopes: twoScopes }, map);
    const { run } = await rig.run("netbox");
    assert.deepEqual(
      run?.faults.map(({ row, column, field, reason }) => [row, column, field, reason]),
      [[2, "tenant.slug", "scope", '"Not one" is no name of a scope']],
    );
    assert.deepEqual(names(rig, "acme"), ["one"]);

    const without = await start(netbox, {}, map);
    assert.match(
      (await without.run("netbox")).run?.reason ?? "",
      /there are no scopes here: SVC_PROCESSOR_ENRICH_SCOPES_PATH must be set/,
    );
  });

  test("are in the history of the scope, and in no other", async () => {
    const netbox = await startNetbox([{ prefix: "10.0.0.0/8", description: "red net", vrf: red }]);
    const rig = await start(netbox, { scopes: twoScopes });
    await rig.run("netbox");
    const acme = rig.scopes?.store("acme");
    assert.ok(acme !== undefined && !("disabled" in acme));
    const told = async ({ history }: Rig["store"]): Promise<unknown[]> =>
      (await history.list({ limit: 10 })).map(({ author, method, entries }) => [author, method, entries]);
    assert.deepEqual(await told(acme), [["netbox", "RunSource", 1]]);
    assert.deepEqual(await told(rig.store), []);
  });

  test("wait for a scope that there is not, which gets them though the source is away", async () => {
    const netbox = await startNetbox([
      { prefix: "10.0.0.0/8", description: "red net", vrf: red },
      { prefix: "10.0.0.0/8", description: "blue net", vrf: blue },
    ]);
    const directory = tempDirectory(all);
    const rig = await start(netbox, { directory, scopes: "beta: {}\n" });
    const first = await rig.run("netbox");
    assert.deepEqual([first.entries, first.run?.missingScopes], [1, ["acme"]]);
    assert.ok(rig.lines.some(({ level, message }) => level === "warn" && message.includes("they wait for them")));
    netbox.prefixes = undefined;
    await rig.setScopes(twoScopes);
    await until("acme has its entry", () => names(rig, "acme").length > 0);
    assert.deepEqual(names(rig, "acme"), ["red net"]);
    await until("the run has failed", () => rig.sources.states()[0]?.state === "failing");
    assert.deepEqual(names(rig, "beta"), ["blue net"], "the last entries stay");

    await rig.setScopes("beta: {}\n");
    await until("acme is gone", () => rig.sources.states()[0]?.entries === 1);
    await rig.setScopes(twoScopes);
    await until("acme is filled again", () => rig.sources.states()[0]?.entries === 2);
    assert.deepEqual(names(rig, "acme"), ["red net"], "a scope that comes again");

    const next = await start(netbox, { directory, scopes: twoScopes });
    assert.deepEqual(
      [next.sources.states()[0]?.state, names(next, "acme"), names(next, "beta")],
      ["restored", ["red net"], ["blue net"]],
    );
  });

  test("are asked for again when a scope comes and no copy is kept", async () => {
    const netbox = await startNetbox([{ prefix: "10.0.0.0/8", description: "red net", vrf: red }]);
    const rig = await start(netbox, { scopes: "beta: {}\n" });
    assert.equal((await rig.run("netbox")).entries, 0);
    await rig.setScopes(twoScopes);
    await until("acme has its entry", () => names(rig, "acme").length > 0);
    assert.deepEqual(names(rig, "acme"), ["red net"]);
  });

  test("are asked for again when a scope comes and the copy is older than what is in use", async () => {
    const netbox = await startNetbox([{ prefix: "10.0.0.0/8", description: "old", vrf: red }]);
    let isFull = false;
    const io = faultFileIo(nodeFileIo, (call) => (isFull && call.includes("open") ? "ENOSPC" : undefined));
    const rig = await start(netbox, { directory: tempDirectory(all), io, scopes: twoScopes });
    await rig.run("netbox");
    isFull = true;
    netbox.prefixes = [{ prefix: "10.0.0.0/8", description: "new", vrf: red }];
    rig.now += 86_400_000;
    await rig.run("netbox");
    assert.ok(rig.lines.some(({ message }) => message.includes("cannot be kept")));
    await rig.setScopes("beta: {}\n");
    await until("acme is gone", () => rig.sources.states()[0]?.entries === 0);
    netbox.prefixes = undefined;
    await rig.setScopes(twoScopes);
    await until("the run has failed", () => rig.sources.states()[0]?.state === "failing");
    assert.deepEqual(names(rig, "acme"), [], "nothing is better than what does not hold any more");
    netbox.prefixes = [{ prefix: "10.0.0.0/8", description: "new", vrf: red }];
    await rig.run("netbox");
    assert.deepEqual(names(rig, "acme"), ["new"]);
  });

  test("of all scopes together are guarded, and a source that goes leaves nothing in any", async () => {
    const netbox = await startNetbox(
      Array.from({ length: 20 }, (_, i) => ({
        prefix: `10.${i}.0.0/16`,
        description: String(i),
        vrf: i % 2 === 0 ? red : blue,
      })),
    );
    const rig = await start(netbox, { scopes: twoScopes });
    await rig.run("netbox");
    netbox.prefixes = (netbox.prefixes ?? []).slice(0, 1);
    rig.now += 86_400_000;
    const held = await rig.run("netbox");
    assert.match(held.run?.reason ?? "", /^1 entries in place of 20 are 95 % fewer/);
    const diff = await rig.sources.diff("netbox");
    assert.deepEqual(
      diff?.removed.slice(0, 1).map(({ scope, key }) => [scope, key.text]),
      [["acme", "10.2.0.0/16"]],
    );
    assert.equal(names(rig, "beta").length, 10);
    await rig.sources.accept("netbox");
    assert.deepEqual([names(rig, "acme"), names(rig, "beta")], [["0"], []]);
    rig.yaml = "[]";
    await rig.sources.reload();
    assert.deepEqual([names(rig, "acme"), names(rig, "beta")], [[], []]);
  });

  test("are where a slow model has them, whatever scopes come and go and whatever the source says", async () => {
    const step = fc.record({
      scopes: fc.option(fc.uniqueArray(fc.constantFrom("acme", "beta"), { maxLength: 2 }), { nil: undefined }),
      isAway: fc.boolean(),
      prefixes: fc.uniqueArray(
        fc.record({ n: fc.nat(3), vrf: fc.constantFrom(undefined, red, blue), name: fc.constantFrom("a", "b") }),
        { maxLength: 6, selector: ({ n, vrf }) => `${n} ${vrf?.name}` },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        const netbox = await startNetbox([]);
        const rig = await startSources(
          `- {kind: netbox, url: "${netbox.server.url}", objects: prefixes, map: ${byVrf}, guard: {max_shrink: 100%}}`,
          { directory: tempDirectory(all), scopes: twoScopes },
        );
        try {
          let scopes: readonly string[] = ["acme", "beta"];
          let said: readonly string[] = [];
          for (const { scopes: next, isAway, prefixes } of steps) {
            if (next !== undefined) {
              scopes = next;
              await rig.setScopes(next.map((name) => `${name}: {}\n`).join("") || "{}\n");
            }
            netbox.prefixes = isAway
              ? undefined
              : prefixes.map(({ n, vrf, name }) => ({
                  prefix: `10.${n}.0.0/16`,
                  description: name,
                  ...(vrf !== undefined && { vrf }),
                }));
            rig.now += 86_400_000;
            // One may be under way that began before.
            await rig.run("netbox");
            await rig.run("netbox");
            if (!isAway)
              said = prefixes.map(({ n, vrf, name }) => {
                const scope = vrf === undefined ? "" : vrf === red ? "acme" : "beta";
                return `${scope} 10.${n}.0.0/16 ${name}`;
              });
            const found = ["", ...scopes].flatMap((scope) =>
              rig.entries("netbox", scope === "" ? undefined : scope).map((entry) => {
                const { key, name } = entry as { key: string; name: string };
                return `${scope} ${key} ${name}`;
              }),
            );
            const expected = said.filter((text) => ["", ...scopes].includes(text.split(" ")[0] ?? ""));
            assert.deepEqual(found.toSorted(), expected.toSorted());
          }
        } finally {
          await rig.stop();
        }
      }),
      runs(12),
    );
  });
});
