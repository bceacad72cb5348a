// What callers who are limited to scopes get of stored records, against a model that takes away by hand what they may not see.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inScopes, Profiles, readFlowsQuery, readQuery } from "../../src/explore/index.ts";
import { isPlain, ofConnection, seenFrom } from "../support/limited-record.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";
import { checkAnswers, checkDifferent, checkRegexes, checkUtilisation, now, sampleRecords } from "./query-cases.ts";
import { lineOf, type ModelRecord } from "./query-model.ts";

const never = new AbortController().signal;
const places = [undefined, "acme", "beta"];
/** Each pair of places of the ends, in turn. */
const withScopes = (record: ModelRecord, i: number): ModelRecord => ({
  ...record,
  ...(places[i % 3] !== undefined && { "flow.src.scope": places[i % 3] as string }),
  ...(places[Math.floor(i / 3) % 3] !== undefined && { "flow.dst.scope": places[Math.floor(i / 3) % 3] as string }),
});

/** Bytes count when they flowed by the clock of the collector, which nobody need see. */
function seen(record: ModelRecord, scope: string): ModelRecord | undefined {
  const shown = seenFrom(record, scope);
  const offset = record["flow.export.clock.offset"];
  return shown === undefined || offset === undefined ? shown : { ...shown, "flow.export.clock.offset": offset };
}

const records = sampleRecords.map(withScopes);

test("answers to a caller for a scope are those of a model over what it may see", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, Buffer.from(records.map(lineOf).join("")));
  await explore.flush();
  const own = records.map((record) => seen(record, "acme")).filter((record) => record !== undefined);
  assert.ok(own.length > 10 && own.length < records.length);
  const ask: Parameters<typeof checkAnswers>[0] = (query) => explore.query(inScopes(query, ["acme"]), never);
  await checkAnswers(ask, own, 20);
  await checkRegexes(ask, own);
  await checkUtilisation(ask, own);
  await checkDifferent(ask, own);
  await checkAnswers((query) => explore.query(inScopes(query, ["nobody"]), never), [], 2);
  await checkAnswers((query) => explore.query(inScopes(query, []), never), [], 2);
});

test("so are those of rollups, of which whole minutes are left", async (t) => {
  const directory = exploreDirectory(t);
  let at = now;
  const rollups = { maxDays: 90, maxBytes: 2 ** 30, fields: [] };
  const explore = await openExplore(t, { directory, clockNow: () => at, config: { maxHours: 2, rollups } });
  takeLines(explore, Buffer.from(records.map(lineOf).join("")));
  await explore.flush();
  at = now + 3 * 3_600_000;
  const ask: Parameters<typeof checkAnswers>[0] = (query) => explore.query(inScopes(query, ["acme"]), never);
  await until("records were rolled up and went", async () => {
    await explore.flush();
    const { parts } = await ask(readQuery({ from: "-1h", granularity: "none" }, now));
    return parts.length === 1 && parts[0]?.kind === "minutes";
  });
  const own = records.map((record) => seen(record, "acme")).filter((record) => record !== undefined);
  await checkAnswers(ask, own, 8, "rollups");
});

test("no field, key, filter or profile gives a word of another scope, of no scope, of an exporter or an interface", async (t) => {
  const further = [
    "mpls.vpn.rd",
    "flow.mpls.tunnel.name",
    "flow.mpls.next_hop.ip.addr",
    "flow.acl.name",
    "hop.src.as.label",
  ];
  const explore = await openExplore(t, { clockNow: () => now, config: { fields: further } });
  const { fields } = explore.status();
  const given = fields.filter(
    ({ type, isArray, name }) => ["string", "ip"].includes(type) && !isArray && !isPlain(name),
  );
  const ofField = (record: ModelRecord, { name, type }: (typeof fields)[number]): string => {
    const end = /^flow\.(src|dst)\./.exec(name)?.[1];
    const isOf = (one: string): boolean => record[`flow.${one}.scope`] === "acme";
    const isOwn = end === undefined ? ofConnection.test(name) && isOf("src") && isOf("dst") : isOf(end);
    return type === "ip" ? (isOwn ? "10.0.0.77" : "203.0.113.66") : `${isOwn ? "own" : "secret"} ${name}`;
  };
  const scoped = Array.from({ length: 9 }, (_, i) =>
    withScopes(
      {
        "@timestamp": new Date(now - 60_000).toISOString(),
        "flow.src.ip.addr": `10.0.0.${i}`,
        "flow.dst.ip.addr": "10.9.9.9",
        "flow.bytes": 100,
        "flow.packets": 1,
      },
      i,
    ),
  );
  const named = scoped.map((record): ModelRecord => {
    const words = given.filter(({ name }) => !name.endsWith(".scope"));
    const own = Object.fromEntries(words.map((field) => [field.name, ofField(record, field)]));
    const key = record["flow.dst.scope"] === "acme" ? {} : { "flow.dst.secret.key": "secret" };
    return Object.assign(own, key, record);
  });
  takeLines(explore, Buffer.from(named.map((record) => lineOf(record)).join("")));
  await explore.flush();
  const limited = ["acme"];
  const isClean = (answer: unknown, what: string): void =>
    assert.doesNotMatch(JSON.stringify(answer), /secret|beta|203\.0\.113/, what);
  const flows = await explore.flows(inScopes(readFlowsQuery({}, now), limited), never);
  assert.equal(flows.records.length, 5);
  isClean(flows, "flows");
  const dimensions = fields.filter(({ dimension }) => dimension).map(({ name }) => name);
  const shown = new Set<unknown>();
  // As many at once as a question may have.
  for (let i = 0; i < dimensions.length; i += 4) {
    const asked = { dimensions: dimensions.slice(i, i + 4), measure: "flows", granularity: "none" };
    const answer = await explore.query(inScopes(readQuery(asked, now), limited), never);
    assert.equal(answer.total.value, 5);
    isClean(answer.rows, asked.dimensions.join());
    for (const value of answer.rows.flatMap(({ key }) => key)) shown.add(value);
  }
  const own = [...shown].filter((value) => String(value).startsWith("own ")).length;
  const words = fields.filter(({ dimension, type }) => dimension && type === "string").map(({ name }) => name);
  for (let i = 0; i < words.length; i += 8) {
    const terms = words.slice(i, i + 8).flatMap((name) => [`\`${name}\` ~ "secret"`, `\`${name}\` ~ "beta"`]);
    const filter = terms.join(" or ");
    const asked = inScopes(readQuery({ filter, measure: "flows", granularity: "none" }, now), limited);
    assert.equal((await explore.query(asked, never)).total.value, 0, filter);
  }
  assert.ok(own > 4, "what is its own is shown");
  for (const filter of [
    "src.scope = beta",
    "flow.dst.secret.key exists",
    "not src.scope = acme and not dst.scope = acme",
  ]) {
    const asked = inScopes(readQuery({ filter, measure: "flows" }, now), limited);
    assert.equal((await explore.query(asked, never)).total.value, 0, filter);
  }
  const questions = {
    status: async () => explore.status(),
    query: explore.query.bind(explore),
    flows: explore.flows.bind(explore),
  };
  const profiles = new Profiles(questions, () => now);
  isClean(await profiles.answer({ field: "address", value: "10.9.9.9" }, never, limited), "profile");
  // Names that records of others have are not offered in place of a slip.
  const slip = (field: string): Promise<unknown> =>
    explore.query(inScopes(readQuery({ dimensions: [field] }, now), limited), never).catch((error: unknown) => error);
  assert.doesNotMatch(String(await slip("flow.nothing")), /did you mean/);
  isClean(((await slip("flow.dst.secet.key")) as { rows?: unknown }).rows, "a slip");
});
