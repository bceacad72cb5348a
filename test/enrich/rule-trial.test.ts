import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readRules, RuleTrial, type Rule } from "../../src/enrich/index.ts";
import type { Value } from "../../src/record/index.ts";
import type { Json } from "../support/flow-rig.ts";
import { modelOfRules } from "../support/rule-model.ts";
import { runs } from "../support/runs.ts";

const conditions = [
  ["`flow.in.netif.alias` =~ '^(?<kind>CUST|PEER):'", "$kind"],
  ["in.if.name exists", "named"],
  ["dst.port < 1024", true],
  ["`flow.in.kind` = CUST", "of ours"],
  ["`site` exists or not in.if.name exists", 7],
] as const;
const rule = fc
  .tuple(fc.constantFrom(...conditions), fc.constantFrom("flow.in.kind", "site", ".src.owner"))
  .map(([[when, value], field]) => ({ when, set: { [field]: value } }));
const record = fc.record(
  {
    "flow.export.ip.addr": fc.constant("192.0.2.1"),
    "flow.in.netif.alias": fc.constantFrom("CUST: a", "PEER: b", "CORE"),
    "flow.in.netif.name": fc.constantFrom("lan", "wan"),
    "flow.dst.l4.port.id": fc.constantFrom(53, 50_000),
    // Of metadata, or of the rules of now.
    "flow.src.owner": fc.constantFrom("metadata", "named"),
  },
  { requiredKeys: ["flow.export.ip.addr"] },
);
const read = (rules: readonly object[]): readonly Rule[] => readRules(Buffer.from(JSON.stringify(rules))).value;

test("a trial counts what a slow model finds: fields gained, lost, changed, and the rules that are true", () => {
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 5 }),
      fc.array(rule, { maxLength: 3 }),
      fc.array(record, { maxLength: 12 }),
      (given, before, records) => {
        const [rules, now] = [read(given), read(before)];
        const own = new Set(now.flatMap(({ set }) => [...set.keys()]));
        const trial = new RuleTrial(rules, now, () => true);
        const expected = { changed: 0, gained: 0, lost: 0, others: 0, fits: rules.map(() => 0) };
        for (const each of records) {
          const steps = trial.take(new Map(Object.entries(each) as [string, Value][]));
          while (steps.next().done !== true);
          const base = Object.fromEntries(Object.entries(each).filter(([name]) => !own.has(name))) as Json;
          const [was, is] = [modelOfRules(now, base), modelOfRules(rules, base)];
          const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
          const others = names.filter((name) => was[name] !== is[name]);
          expected.gained += others.filter((name) => !(name in was)).length;
          expected.lost += others.filter((name) => !(name in is)).length;
          expected.others += others.filter((name) => name in was && name in is).length;
          if (others.length > 0) expected.changed++;
          for (const i of rules.keys()) {
            // A rule that gives a mark alone shows whether it is true behind those before it.
            const marked = [...rules.slice(0, i), { ...(rules[i] as Rule), set: new Map([["mark", true]]) }];
            if (modelOfRules(marked, base)["mark"] === true) expected.fits[i] = (expected.fits[i] ?? 0) + 1;
          }
        }
        const { fields, ...report } = trial.report;
        const sum = (of: "gained" | "lost" | "changed"): number => fields.reduce((all, each) => all + each[of], 0);
        assert.deepEqual(
          [report.records, report.changed, sum("gained"), sum("lost"), sum("changed")],
          [records.length, expected.changed, expected.gained, expected.lost, expected.others],
        );
        assert.deepEqual(
          report.rules.map(({ fits }) => fits),
          expected.fits,
        );
      },
    ),
    runs(300),
  );
});

test("a trial names fields that records cannot have, shows the most frequent values, and cuts long ones", () => {
  const rules = read([
    { name: "first", when: "in.if.name =~ '^(?<all>.*)$'", set: { site: "$all" } },
    { name: "second", when: "`site` exists and `flow.in.netif.alias` = x", set: { kind: "k" } },
  ]);
  const trial = new RuleTrial(rules, [], (field) => field === "flow.in.netif.name");
  for (const name of ["a", "b", "a", "x".repeat(1000)]) {
    for (const _ of trial.take(new Map([["flow.in.netif.name", name]])));
  }
  // Left off: it does not count.
  trial.take(new Map([["flow.in.netif.name", "c"]])).next();
  assert.deepEqual(trial.report, {
    records: 4,
    changed: 4,
    rules: [
      { name: "first", of: "in", fits: 4, changes: 4, lacks: [] },
      { name: "second", of: "record", fits: 0, changes: 0, lacks: ["flow.in.netif.alias"] },
    ],
    fields: [
      {
        field: "site",
        gained: 4,
        lost: 0,
        changed: 0,
        values: [
          { value: "a", records: 2 },
          { value: "b", records: 1 },
          { value: `${"x".repeat(200)}…`, records: 1 },
        ],
      },
    ],
  });
});
