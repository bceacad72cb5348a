import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { explainObject } from "../../src/app/index.ts";
import * as fc from "fast-check";
import { RE2JS } from "re2js";
import {
  AddressEnricher,
  FileFindings,
  formatFinding,
  NetifEnricher,
  readNetifs,
  readRules,
  RuleEnricher,
  type Rule,
} from "../../src/enrich/index.ts";
import { joinLineEnrichers, regexCost, type Enricher } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { goldenCases } from "../flow/golden-cases.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { modelOfRules as model } from "../support/rule-model.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

const exporter = "192.0.2.254";
const text = (rules: readonly object[]): string => JSON.stringify(rules);
const read = (yaml: string): readonly Rule[] => readRules(Buffer.from(yaml)).value;
const faultsOf = (rules: readonly object[]): number => {
  try {
    read(text(rules));
  } catch (error) {
    if (error instanceof FileFindings) return error.findings.length;
    throw error;
  }
  return 0;
};

interface Known {
  readonly rig: FlowRig;
  readonly directory: InterfaceDirectory;
  readonly setMetadata: (entries: Parameters<typeof udmEntry>[]) => void;
  rules: readonly Rule[];
}

/** A pipeline with all that names interfaces and exporters, and rules. */
async function startRig(rules: readonly Rule[] = []): Promise<Known> {
  const metrics: Metrics = createMetrics();
  const directory = new InterfaceDirectory();
  const watch = manualWatch([]);
  const addresses = new AddressEnricher({
    log: silentLog,
    metrics,
    clock: systemClock,
    watch: watch.watch,
    ttlMs: 1_000_000,
    invalidate: true,
    maxCached: 1000,
  });
  await addresses.start();
  const netifs = readNetifs(Buffer.from(`${exporter}: {2: {alias: "PEER: two", tags: [x]}}`)).value;
  const sources = [new NetifEnricher(() => netifs, metrics), new InterfaceEnricher(directory, metrics)] as const;
  const known = { rules };
  const enricher = new RuleEnricher(() => known.rules, sources, metrics);
  const all: readonly Enricher[] = [...sources, addresses, enricher];
  const rig = createFlowRig({
    enricher: {
      enrich: (record, rendered) => all.forEach((one) => one.enrich(record, rendered)),
      lines: joinLineEnrichers(all.map(({ lines }) => lines)),
    },
    shape: enricher.shape,
  });
  const setMetadata: Known["setMetadata"] = (entries) => {
    watch.set(entries.map((entry) => udmEntry(...entry)));
  };
  return Object.assign(known, { rig, directory, setMetadata });
}

const customer = { when: '`flow.in.netif.alias` =~ "^CUST: *(?<customer>[^ ]+)"', groups: ["customer"] };
const conditions = [
  customer,
  { when: "in.if.name =~ '^(?<kind>[a-z]+)'", groups: ["kind"] },
  { when: "out.if.name = wan", groups: [] },
  { when: "`flow.out.netif.alias` ~ peer", groups: [] },
  { when: "not `flow.in.netif.alias` exists", groups: [] },
  { when: "in.if.name exists and exporter in 192.0.2.0/24", groups: [] },
  { when: `exporter = ${exporter}`, groups: [] },
  { when: "`flow.export.ip.subnet.name` =~ '^(?<site>\\w+)-'", groups: ["site"] },
  { when: "dst.port < 1024", groups: [] },
  { when: "flow.in.netif.index = 1 and `flow.out.netif.alias` exists", groups: [] },
  { when: "`flow.in.boundary` = external", groups: [] },
  { when: "`customer` exists or `flow.out.boundary` exists", groups: [] },
] as const;
const names = ["flow.in.boundary", "flow.out.boundary", ".src.customer", "customer", ".export.site", "flow.dst.owner"];
const anyRule = fc
  .tuple(
    fc.constantFrom(...conditions),
    fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }),
    fc.constantFrom("external", "a$$b", true, 7),
  )
  .map(([{ when, groups }, fields, plain]) => {
    const value = groups.length > 0 ? `of $${groups[0] ?? ""}` : plain;
    return { when, set: Object.fromEntries(fields.map((name) => [name, value])) };
  });

const sorted = (record: Json): [string, unknown][] => Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));

suite("rules", () => {
  test("records are what a slow model makes of them: rules in turn, over all that is known of exporters and interfaces", async () => {
    const facts = fc.option(
      fc.record(
        { name: fc.constantFrom("lan", "wan"), alias: fc.constantFrom("CUST: acme 1", "PEER: x", 'CUST:"q"') },
        { requiredKeys: [] },
      ),
      { nil: undefined },
    );
    const seen = { given: 0, plain: 0 };
    const property = fc.asyncProperty(
      fc.array(anyRule, { maxLength: 6 }),
      fc.array(facts, { minLength: 12, maxLength: 12 }),
      fc.constantFrom("", "ams-1", "fra"),
      fc.boolean(),
      fc.subarray([...goldenCases.keys()].map(Number), { minLength: 4, maxLength: 16 }),
      async (given, interfaces, site, collides, chosen) => {
        const rules = read(text(given));
        const [plain, ruled] = [await startRig(), await startRig(rules)];
        for (const { directory, setMetadata } of [plain, ruled]) {
          setMetadata(
            [
              ["0.0.0.0/0", { name: "all", metadata: collides ? { ".customer": "metadata", customer: "m" } : {} }],
              ...(site === "" ? [] : [[exporter, { name: site }] as const]),
            ].map(([key, values]) => [key, values] as Parameters<typeof udmEntry>),
          );
          const known = interfaces.flatMap((one, index) => (one === undefined ? [] : [[index, one] as const]));
          directory.change({ deviceId: "d", known: { ip: exporter, addresses: [], interfaces: new Map(known) } });
        }
        for (const i of chosen) {
          for (const datagram of (goldenCases[i] as (typeof goldenCases)[number])[1]) {
            const { bytes, ...from } = "bytes" in datagram ? datagram : { bytes: datagram };
            const place = { ...from, port: 50_000 + i };
            const records = plain.rig.send(bytes, place);
            const expected = records.map((record) => sorted(model(rules, record)));
            expected.forEach((record, k) => {
              seen[record.length > Object.keys(records[k] ?? {}).length ? "given" : "plain"]++;
            });
            assert.deepEqual(ruled.rig.send(bytes, place).map(sorted), expected, text(given));
          }
        }
      },
    );
    await fc.assert(property, { ...runs(60), includeErrorInReport: true });
    assert.ok(seen.given > 30 && seen.plain > 30, JSON.stringify(seen));
  });

  test("what is known of an interface changes, and with it what rules say; so do the rules", async () => {
    const known = await startRig(read(text([{ when: customer.when, set: { "flow.in.customer": "$customer" } }])));
    const flow = netflow5([{ route: { as: [0, 0], prefixes: [0, 0], interfaces: [3, 4], nextHop: "0.0.0.0" } }]);
    const customerOf = (): unknown => known.rig.send(flow)[0]?.["flow.in.customer"];
    assert.equal(customerOf(), undefined);
    const describe = (alias: string): void =>
      known.directory.change({
        deviceId: "d",
        known: { ip: exporter, addresses: [], interfaces: new Map([[3, { name: "a", alias }]]) },
      });
    describe("CUST: acme");
    assert.equal(customerOf(), "acme");
    describe("CUST: other");
    assert.equal(customerOf(), "other");
    known.rules = read(text([{ when: customer.when, set: { "flow.in.customer": "x-${customer}" } }]));
    assert.equal(customerOf(), "x-other");
    known.rules = [];
    assert.equal(customerOf(), undefined);
  });

  for (const [what, yaml, finding] of [
    ["no such field", "- when: src.prot = 1\n  set: {a: b}\n", /1:9: .*there is no field src\.prot|did you mean/],
    ["no filter", "- set: {a: b}\n", /1:3: .*when/],
    [
      "an unknown group",
      "- when: in.if.name =~ '(?<a>x)'\n  set: {b: $c}\n",
      /b takes \$c, a group that when does not have/,
    ],
    ["no expression", "- when: in.if.name =~ '('\n  set: {b: c}\n", /1:9: .*no regular expression/],
    ["a lookahead", "- when: in.if.name =~ '(?=a)b'\n  set: {b: c}\n", /no regular expression in the syntax of RE2/],
    [
      "a field of the collector",
      "- when: dst.port = 1\n  set: {flow.bytes: 1}\n",
      /2:9: .*below flow rules give names/,
    ],
    [
      "a field of interfaces",
      "- when: dst.port = 1\n  set: {flow.in.netif.name: x}\n",
      /2:9: .*is a field that the collector gives/,
    ],
    ["above others", "- when: dst.port = 1\n  set: {a: x, a.b: y}\n", /a is set, and fields below it/],
    [
      "two of one name",
      "- {name: a, when: dst.port = 1, set: {b: c}}\n- {name: a, when: dst.port = 1, set: {b: c}}\n",
      /two rules are called a/,
    ],
    ["no list", "a: b\n", /1:1: expected a list/],
  ] as const) {
    test(`a file is refused with the place of its fault: ${what}`, () => {
      assert.throws(
        () => read(yaml),
        (error) => error instanceof FileFindings && finding.test(error.findings.map(formatFinding).join("\n")),
        (() => {
          try {
            read(yaml);
            return "it was taken";
          } catch (error) {
            return error instanceof FileFindings ? error.findings.map(formatFinding).join("\n") : String(error);
          }
        })(),
      );
    });
  }

  test("the ready sets of the page say what the page says", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/rules.md"), "utf8");
    const sets = [...page.matchAll(/^```yaml(?: rules)?\n(.*?)^```$/gms)].map(([, yaml = ""]) => read(yaml));
    assert.equal(sets.length, 4);
    const { rig, directory, setMetadata } = await startRig(sets.flat());
    setMetadata([[exporter, { name: "ams1-edge-2" }]]);
    const aliases = ["", "TRANSIT: Example AS64500", "PEER: AMS-IX", "CUST: acme port 2", "CORE: fra1"];
    const interfaces = new Map(aliases.map((alias, index) => [index + 10, { name: `xe-${index}`, alias }]));
    directory.change({ deviceId: "d", known: { ip: exporter, addresses: [], interfaces } });
    const flow = (into: number, out: number): Json => {
      const route = { as: [0, 0], prefixes: [0, 0], interfaces: [into, out], nextHop: "0.0.0.0" } as const;
      const [record = {}] = rig.send(netflow5([{ route }]));
      return Object.fromEntries(
        Object.entries(record).filter(([name]) =>
          /^flow\.(?:in|out)\.(?:kind|who|boundary|customer)$|^flow\.export\.site$/.test(name),
        ),
      );
    };
    assert.deepEqual(flow(11, 13), {
      "flow.in.kind": "TRANSIT",
      "flow.in.who": "Example",
      "flow.in.boundary": "external",
      "flow.out.kind": "CUST",
      "flow.out.who": "acme",
      "flow.out.boundary": "external",
      "flow.export.site": "ams1",
    });
    assert.deepEqual(flow(13, 14), {
      "flow.in.kind": "CUST",
      "flow.in.who": "acme",
      "flow.in.customer": "acme",
      "flow.in.boundary": "external",
      "flow.out.kind": "CORE",
      "flow.out.who": "fra1",
      "flow.out.boundary": "internal",
      "flow.export.site": "ams1",
    });
    assert.deepEqual(flow(10, 99), { "flow.export.site": "ams1" });
  });

  test("an explanation says which rule gave which field, as records have them", async () => {
    const rules = read(
      text([
        { name: "customers", when: customer.when, set: { "flow.in.customer": "$customer" } },
        { name: "owner", when: "`flow.in.customer` = acme", set: { ".src.owner": "team a" } },
        { name: "never", when: "`flow.in.customer` = other", set: { ".src.owner": "team b" } },
      ]),
    );
    const metrics = createMetrics();
    const directory = new InterfaceDirectory();
    const interfaces = new InterfaceEnricher(directory, metrics);
    const known = new Map([[3, { alias: "CUST: acme" }]]);
    directory.change({ deviceId: "d", known: { ip: exporter, addresses: [], interfaces: known } });
    const { json, sources } = explainObject(
      { interfaces, rules: new RuleEnricher(() => rules, [interfaces], metrics) },
      { object: "flow.src", address: "10.0.0.1", netif: { exporter, index: 3 } },
    );
    const record = JSON.parse(json) as Json;
    assert.deepEqual([record["flow.in.customer"], record["flow.src.owner"]], ["acme", "team a"]);
    assert.deepEqual(
      [sources.get("flow.in.customer"), sources.get("flow.src.owner"), sources.get("flow.in.netif.alias")],
      ["rule customers", "rule owner", "snmp"],
    );
    assert.ok(!("flow.export.ip.addr" in record));
  });

  test("what repetitions are written out to is known before: no expression takes long, nor do many", () => {
    const huge = "(x{0,1000})".repeat(60);
    for (const expression of [huge, "(?:abc){900}", "((x{30}){30}){30}", "[^]a{1,9}]{1000}[a{2}]{1000}(x{1000})"]) {
      assert.throws(() => read(text([{ when: `in.if.name =~ '${expression}'`, set: { a: "b" } }])), /too large/);
    }
    const many = Array.from({ length: 1000 }, (_, i) => ({
      when: `in.if.name =~ 'n${i}(?:abc){200}'`,
      set: { a: "b" },
    }));
    assert.throws(() => read(text(many)), /too large together/);
    assert.equal(read(text(many.slice(0, 50))).length, 50);
    // Those behind them are not compiled, whatever else is wrong with each.
    const faulty = many.map(({ when }) => ({ when: `${when} and bytes > x`, set: { a: "b" } }));
    assert.ok(faultsOf(faulty) < 300);
    assert.equal(faultsOf([...faulty, ...faulty]), 1);
    const twice = "in.if.name =~ '(?:abc){400}' or out.if.name =~ '(?:abd){400}'";
    assert.throws(() => read(text([{ when: `${twice} or ${twice}`, set: { a: "b" } }])), /of the filter are too large/);
  });

  test("the cost of an expression is told from its text, and not below half of its steps", () => {
    const part = fc.constantFrom(
      "a",
      "(",
      ")",
      "(?:",
      "[",
      "]",
      "[^",
      "[:alpha:]",
      "{2}",
      "{0,20}",
      "{30,}",
      "{,3}",
      "*",
      "+",
      "?",
      "|",
      "\\",
      "\\Q",
      "\\E",
      "\\p{L}",
      "\\pN",
      "\\x{61}",
      "^",
      "$",
      ".",
      "-",
      "\\d",
      "\\(",
      "(?i)",
      "é",
      "\u{1f600}",
      "{",
      "}",
      "1",
      ",",
    );
    let right = 0;
    const property = fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const expression = parts.join("");
      let steps: number;
      try {
        steps = RE2JS.compile(expression).programSize();
      } catch {
        return;
      }
      right++;
      assert.ok(regexCost(expression) * 2 + 8 >= steps, `${expression}: ${regexCost(expression)}, ${steps} steps`);
    });
    fc.assert(property, { ...runs(5000), includeErrorInReport: true });
    assert.ok(right > 300, `${right}`);
  });

  test("a thousand rules that depend on each other, with many fields, are read and ordered at once", async () => {
    // Each shares a field with the next; the last is about records, so all are.
    const chain = Array.from({ length: 1000 }, (_, i) => ({
      when: i === 999 ? "dst.port = 1" : "in.if.name = x",
      set: { [`flow.in.c${i}`]: "a", [`flow.in.c${i + 1}`]: "b" },
    }));
    const aboutRecords = async (rules: readonly object[]): Promise<number> => {
      const metrics = createMetrics();
      const given = read(text(rules));
      new RuleEnricher(() => given, [], metrics).enrich(new Map());
      return Number(/^netgloss_enrich_rules\{of="record"\} (\d+)$/m.exec(await metrics.render())?.[1]);
    };
    assert.equal(await aboutRecords(chain), 1000);
    assert.equal(await aboutRecords(chain.slice(0, 999)), 0);
    const wide = Array.from({ length: 1000 }, (_, i) => ({
      when: "in.if.name = x",
      set: Object.fromEntries(Array.from({ length: 32 }, (__, k) => [`flow.in.f${i}.g${k}`, "a"])),
    }));
    assert.equal(await aboutRecords(wide), 0);
  });

  test("an exporter that makes up interfaces does not fill the memory, and what was said of others stays right", async () => {
    const note = "n".repeat(960);
    const rules = ["in", "out"].map((way) => ({
      when: `\`flow.${way}.netif.index\` > 0`,
      set: { [`flow.${way}.note`]: note },
    }));
    const { rig } = await startRig(read(text(rules)));
    const isRight = (from: number): boolean => {
      const flows = Array.from({ length: 30 }, (_, i) => ({
        route: { as: [0, 0], prefixes: [0, 0], interfaces: [from + i, from + i], nextHop: "0.0.0.0" } as const,
      }));
      return rig
        .send(netflow5(flows))
        .every((record) => record["flow.in.note"] === note && record["flow.out.note"] === note);
    };
    // More than is kept.
    for (let i = 0; i < 950; i++) assert.ok(isRight(1 + i * 30));
    assert.ok(isRight(1));
  });

  test("at most a thousand rules", () => {
    const rules = (count: number): string =>
      text(Array.from({ length: count }, (_, i) => ({ when: `dst.port = ${i}`, set: { a: "b" } })));
    assert.equal(read(rules(1000)).length, 1000);
    assert.throws(() => read(rules(1001)), /more than 1000 rules/);
  });
});
