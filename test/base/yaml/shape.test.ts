import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { isScalar, parseDocument } from "yaml";
import {
  bool,
  defaulted,
  formatShapeFinding,
  integer,
  list,
  mapOf,
  mappingOr,
  oneOf,
  oneOrList,
  optional,
  pairsOf,
  readShape,
  mapping,
  required,
  scalar,
  textLine,
  type Shape,
} from "../../../src/base/yaml/index.ts";
import { runs } from "../../support/runs.ts";

function findingsOf(source: string, shape: Shape<unknown>): string[] {
  return readShape(source, shape).findings.map(formatShapeFinding);
}

const host = mapping(
  {
    ip: required(
      scalar("an address", (given) => (given.includes(".") ? given : undefined)),
      "Its address.",
    ),
    port: defaulted(integer(1, 65_535), 161, "Its port."),
    kind: optional(oneOf(["router", "switch"]), "What it is."),
    tags: optional(oneOrList(textLine), "Its tags."),
    ping: optional(bool, "Whether it is asked.", ["icmp"]),
    rates: optional(mapOf(integer(0, 9), textLine, { each: "rate" }), "By number."),
    users: optional(list(mapping({ name: required(textLine, "") }), "user"), "Who."),
  },
  { check: ({ port, kind }, at) => port === 1 && kind === "switch" && at.below("port").error("not of a switch") },
);
const hosts = mapOf(textLine, host, { each: "host" });

test("a text is read into its typed value", () => {
  const source = `a: {ip: 1.2, tags: x, icmp: True}
b: {<<: {port: 7, kind: router}, ip: "2.1", tags: [x, y], rates: {1: one}, users: [{name: n}], kind: ~}
`;
  const { value, findings, hasErrors } = readShape(source, hosts);
  assert.deepEqual([findings, hasErrors], [[], false]);
  assert.deepEqual(value?.get("a"), { ip: "1.2", port: 161, tags: ["x"], ping: true });
  const rest = { tags: ["x", "y"], rates: new Map([[1, "one"]]), users: [{ name: "n" }] };
  assert.deepEqual(value?.get("b"), { ip: "2.1", port: 7, ...rest });
  for (const nothing of ["", "# nothing\n", "~", "null\n"]) {
    assert.deepEqual(readShape(nothing, hosts), { value: new Map(), findings: [], hasErrors: false });
  }
});

test("all findings are given at once, each with its position", () => {
  const source = `a:
  port: 0x1
  knd: router
  tags: [x, [y], "", ~]
b:
  ip: 1.1
  ping: perhaps
  icmp: true
  zzz: 1
  rates: {1: one, +1: uno, ten: ten, 2: {}}
  users: [{}, x, {name: [n]}]
c: ~
d: [1]
e: {ip: 1.1, port: 1, kind: switch}
f: {ip: 1.1, kind: swich}
`;
  assert.deepEqual(findingsOf(source, hosts), [
    "1:1: host a: ip is missing: expected an address",
    '2:9: host a: port: expected a whole number from 1 to 65535, found "0x1"',
    '3:3: host a: knd: unknown key (did you mean "kind"?)',
    "4:13: host a: tags 2: expected a text, found a list",
    "4:18: host a: tags 3: expected a text, found an empty text",
    "4:22: host a: tags 4: expected a text, found nothing",
    '7:9: host b: ping: expected true or false, found "perhaps"',
    "8:3: host b: icmp: ping is there twice",
    "9:3: host b: zzz: unknown key, expected one of ip, port, kind, tags, ping, icmp, rates, users",
    "10:19: host b: rate +1: is there twice",
    '10:28: host b: rate ten: expected a whole number from 0 to 9, found "ten"',
    "10:41: host b: rate 2: expected a text, found a mapping",
    "11:11: host b: user 1: name is missing",
    "11:15: host b: user 2: expected a mapping, found a text",
    "11:25: host b: user 3: name: expected a text, found a list",
    "12:1: host c: expected a mapping, found nothing",
    "13:4: host d: expected a mapping, found a list",
    "14:20: host e: port: not of a switch",
    '15:20: host f: kind: expected one of router, switch; found "swich" (did you mean "switch"?)',
  ]);
  assert.deepEqual(findingsOf("[1]", hosts), ["1:1: expected a mapping, found a list"]);
  assert.deepEqual(findingsOf("a: [", hosts).length, 1);
});

test("what is wrong spoils its own record alone", () => {
  const { value, hasErrors } = readShape("a: {ip: 1.1, port: no}\nb: {ip: 1.1}\n", hosts);
  assert.deepEqual([hasErrors, value], [true, new Map([["b", { ip: "1.1", port: 161 }]])]);
});

test("what an alias or a merge brings has the position of the key that took it", () => {
  const source = `a: &a {ip: 1.1, port: no}\nb: *a\nc: {ip: 1.1, kind: &k king}\nd: {ip: 1.1, kind: *k}\ne:\n  <<: *a\n`;
  assert.deepEqual(
    readShape(source, hosts).findings.map(({ line, column, about }) => `${line}:${column} ${about.join("/")}`),
    ["1:23 host a/port", "2:1 host b/port", "3:20 host c/kind", "4:14 host d/kind", "5:1 host e/port"],
  );
  assert.deepEqual(findingsOf("a: {<<: 1, ip: 1.1}", hosts), [
    "1:1: host a: ip is missing: expected an address",
    "1:4: host a: << must merge a mapping or a list of mappings",
  ]);
});

test("a key that is there twice is named beside other findings, and the first one counts", () => {
  const { value, findings } = readShape("a: {ip: 1.1, ip: 2.2}\nb: {ip: 1}\n", hosts);
  assert.deepEqual(findings.map(formatShapeFinding), [
    '1:14: key "ip" is given twice, first at line 1, column 5',
    '2:9: host b: ip: expected an address, found "1"',
  ]);
  assert.deepEqual([...(value?.keys() ?? [])], ["a"]);
});

test("unknown keys are errors, warnings, or errors only when they are near a known one", () => {
  const fields = { name: optional(textLine, "") };
  assert.deepEqual(findingsOf("nam: x\nother: y", mapping(fields, { unknown: "warning" })), [
    '1:1: nam: unknown key is ignored (did you mean "name"?)',
    "2:1: other: unknown key is ignored",
  ]);
  const { findings } = readShape("nam: x\nother: y", mapping(fields, { unknown: "hint" }));
  assert.deepEqual(
    findings.map(({ severity }) => severity),
    ["error", "warning"],
  );
  assert.deepEqual(readShape("name: x\nother: y", mapping(fields, { unknown: "warning" })).value, { name: "x" });
});

test("a value that may be a secret is not repeated", () => {
  const secret = scalar("a hash", () => undefined, { isHidden: true });
  assert.deepEqual(findingsOf("p: hunter2", mapOf(textLine, secret)), ["1:4: p: expected a hash"]);
  assert.deepEqual(findingsOf("p: [hunter2]", mapOf(textLine, textLine)), ["1:4: p: expected a text, found a list"]);
  assert.deepEqual(findingsOf('p: "hunter\\n2"', mapOf(textLine, textLine)), [
    "1:4: p: expected a text, found a text of several lines",
  ]);
});

test("a parser that says what is wrong is not doubted", () => {
  const picky = scalar("a word", (given, at) => (given === "x" ? "x" : at.error(`${given} is too long`)));
  assert.deepEqual(findingsOf("- xx\n- x\n", list(picky, "word")), ["1:3: word 1: xx is too long"]);
});

test("null is an empty mapping, or an error, where a format says so", () => {
  const maps = mapOf(textLine, mapOf(textLine, textLine).orEmpty());
  assert.deepEqual(
    readShape("a:\nb: {c: d}", maps).value,
    new Map([
      ["a", new Map()],
      ["b", new Map([["c", "d"]])],
    ]),
  );
  const strict = mapping({ name: optional(textLine, "") }, { isStrict: true });
  assert.deepEqual(findingsOf("name: ~", strict), ["1:1: name: expected a text, found nothing"]);
  assert.deepEqual(findingsOf('name: ""', strict), ["1:7: name: expected a text, found an empty text"]);
});

test("an empty text is none where a text may stand, and an error elsewhere", () => {
  const shape = mapping({ name: optional(textLine, "", ["label"]), tags: optional(list(textLine), "") });
  assert.deepEqual(readShape('{name: a, label: ""}', shape).value, { name: "a" });
  assert.deepEqual(readShape("{name: a, label: ~}", shape).value, { name: "a" });
  assert.deepEqual(findingsOf("{name: a, label: b}", shape), ["1:11: label: name is there twice"]);
  assert.deepEqual(findingsOf('tags: ""', shape), ["1:7: tags: expected a list, each a text, found an empty text"]);
});

test("many warnings hide no error", () => {
  const shape = mapping({ port: optional(integer(1, 9), "") }, { unknown: "warning" });
  const { findings } = readShape(`${Array.from({ length: 1500 }, (_, i) => `x${i}: 1\n`).join("")}port: 10\n`, shape);
  assert.equal(findings.filter(({ severity }) => severity === "error").length, 1);
});

test("keys are the same when their identities are", () => {
  const cased = pairsOf(textLine, textLine, { identity: (key) => key.toLowerCase() });
  assert.deepEqual(findingsOf("a: x\nA: y", cased), ["2:1: A: is there twice"]);
  assert.deepEqual(readShape("b: x\na: y", cased).value, [
    ["b", "x"],
    ["a", "y"],
  ]);
});

test("one shape or another is read by the kind of the node", () => {
  const both = list(
    mappingOr(
      mapping({ to: required(textLine, "") }).to(({ to }) => to),
      textLine,
    ),
  );
  assert.deepEqual(readShape("[{to: a}, b]", both).value, ["a", "b"]);
  assert.deepEqual(findingsOf("[{}, [b], ~]", both), [
    "1:2: item 1: to is missing",
    "1:6: item 2: expected a text, found a list",
    "1:11: item 3: expected a text, or a mapping, found nothing",
  ]);
});

test("a hostile file has a bounded number of findings of a bounded length", () => {
  const many = readShape(`a:\n${Array.from({ length: 5000 }, (_, i) => `  x${i}: 1\n`).join("")}`, hosts);
  assert.deepEqual([many.findings.length, many.hasErrors], [1000, true]);
  const long = "\u001b[2J".repeat(3000);
  const [finding = ""] = findingsOf(`a: {ip: 1.1, ${JSON.stringify(long)}: 1}`, hosts);
  assert.ok(finding.length < 1500, String(finding.length));
  assert.ok(!finding.includes("\u001b"));
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi".replaceAll(/./g, (name) => `${name}: &${name} [${`*${String.fromCodePoint(name.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`;
  assert.match(findingsOf(bomb, mapOf(textLine, list(textLine)))[0] ?? "", /aliases stand for more than/);
});

/** What a shape may be, as data, for the model. */
type Plan =
  | { readonly is: "text" | "bool" | "small" | "word" }
  | { readonly is: "list"; readonly of: Plan }
  | { readonly is: "map"; readonly of: Plan }
  | { readonly is: "oneOrList"; readonly of: Plan }
  | { readonly is: "record"; readonly fields: Readonly<Record<string, { need: "must" | "may"; of: Plan }>> };

const names = ["alpha", "beta", "gamma"];
const scalars = { text: textLine, bool, small: integer(0, 9), word: oneOf(["up", "down"]) };

function shapeOf(plan: Plan): Shape<unknown> {
  if (plan.is === "list") return list(shapeOf(plan.of));
  if (plan.is === "oneOrList") return oneOrList(shapeOf(plan.of));
  if (plan.is === "map") return mapOf(textLine, shapeOf(plan.of));
  if (plan.is !== "record") return scalars[plan.is];
  const fields = Object.entries(plan.fields).map(
    ([name, { need, of }]) => [name, need === "must" ? required(shapeOf(of), "") : optional(shapeOf(of), "")] as const,
  );
  return mapping(Object.fromEntries(fields));
}

type Path = readonly (string | number)[];
/** Where something is wrong: a key (`#` behind its path) or a value. */
type Fault = string;

/** Reads a value as a person would, one rule after the other. */
function modelOf(plan: Plan, value: unknown, path: Path, faults: Fault[]): unknown {
  const wrong = (at: Path = path): undefined => void faults.push(JSON.stringify(at));
  const wrongKey = (at: Path): undefined => void faults.push(`${JSON.stringify(at)}#`);
  if (plan.is === "oneOrList" && !Array.isArray(value)) {
    const one = modelOf(plan.of, value, path, faults);
    return one === undefined ? undefined : [one];
  }
  if (value === null) return typeof path.at(-1) === "number" ? wrong() : wrongKey(path);
  if (plan.is === "list" || plan.is === "oneOrList") {
    if (!Array.isArray(value)) return wrong();
    return value.map((item, i) => modelOf(plan.of, item, [...path, i], faults)).filter((item) => item !== undefined);
  }
  if (plan.is === "map" || plan.is === "record") {
    if (typeof value !== "object" || Array.isArray(value)) return wrong();
    const pairs = Object.entries(value);
    if (plan.is === "map") {
      const read = pairs.map(([key, one]) => [key, modelOf(plan.of, one, [...path, key], faults)] as const);
      return new Map(read.filter(([, one]) => one !== undefined));
    }
    const before = faults.length;
    for (const [key] of pairs) if (!(key in plan.fields)) wrongKey([...path, key]);
    const read = Object.entries(plan.fields).flatMap(([name, { need, of }]) => {
      const one = (value as Record<string, unknown>)[name];
      const isText = of.is === "text" || (of.is === "oneOrList" && of.of.is === "text");
      const isThere = one !== undefined && one !== null && !(one === "" && isText);
      if (!isThere && need === "must") wrongKey(path);
      const found = isThere ? modelOf(of, one, [...path, name], faults) : undefined;
      return found === undefined ? [] : [[name, found] as const];
    });
    return faults.length === before ? Object.fromEntries(read) : undefined;
  }
  if (typeof value === "object" || value === "") return wrong();
  const given = typeof value === "string" ? value : JSON.stringify(value);
  if (plan.is === "text") return given;
  if (plan.is === "word") return given === "up" || given === "down" ? given : wrong();
  if (plan.is === "bool") return given === "true" || given === "false" ? given === "true" : wrong();
  return /^\d$/.test(given) ? Number(given) : wrong();
}

/** Where the key and the value of a path stand, by another reader of YAML. */
function positionOf(source: string, fault: Fault): string {
  const path = JSON.parse(fault.replace(/#$/, "")) as (string | number)[];
  const document = parseDocument(source);
  let at = (document.contents as { range?: [number] } | null)?.range?.[0] ?? 0;
  if (fault.endsWith("#")) {
    const last = path.at(-1);
    if (last === undefined) at = 0;
    else if (typeof last === "string") {
      const parent = document.getIn(path.slice(0, -1), true) as { items: { key: { range: [number] } }[] };
      const pair = (path.length === 1 ? (document.contents as unknown as typeof parent) : parent).items.find(
        ({ key }) => isScalar(key) && key.value === last,
      );
      at = pair?.key.range[0] ?? 0;
    } else at = (document.getIn(path, true) as { range: [number] }).range[0];
  } else if (path.length > 0) at = (document.getIn(path, true) as { range: [number] }).range[0];
  const lines = source.slice(0, at).split("\n");
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}`;
}

const { plan: plans } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ is: fc.constantFrom("text", "bool", "small", "word") }),
    fc.record({ is: fc.constantFrom("list", "map"), of: tie("plan") }),
    fc.record({ is: fc.constant("oneOrList"), of: fc.record({ is: fc.constantFrom("text", "bool") }) }),
    fc.record({
      is: fc.constant("record"),
      fields: fc.dictionary(
        fc.constantFrom(...names),
        fc.record({ need: fc.constantFrom("must", "may"), of: tie("plan") }),
      ),
    }),
  ),
}));

const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("up", "down", "true", "", null, 5, 12, true, "a text"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names, "alpa", "other"), tie("value"), { maxKeys: 4 }),
  ),
}));

/** A value that mostly is what the plan says. */
function valueOf(plan: Plan): fc.Arbitrary<unknown> {
  const right = ((): fc.Arbitrary<unknown> => {
    if (plan.is === "list" || plan.is === "oneOrList") return fc.array(valueOf(plan.of), { maxLength: 4 });
    if (plan.is === "map") return fc.dictionary(fc.constantFrom(...names, "x"), valueOf(plan.of), { maxKeys: 4 });
    if (plan.is === "record") {
      const fields = Object.entries(plan.fields).map(([name, { of }]) => [name, valueOf(of)] as const);
      return fc.record(Object.fromEntries(fields), { noNullPrototype: true, requiredKeys: [] });
    }
    return fc.constantFrom(...{ text: ["x", "5"], bool: [true, "false"], small: [0, "9"], word: ["up"] }[plan.is]);
  })();
  return fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: values });
}

test("reads what a slow model reads, and finds what it finds where it finds it", () => {
  const cases = plans.chain((plan) => fc.tuple(fc.constant(plan), valueOf(plan), fc.constantFrom(0, 2)));
  fc.assert(
    fc.property(cases, ([plan, value, indent]) => {
      const source = JSON.stringify(value, undefined, indent);
      const isNothing = value === null;
      const faults: Fault[] = [];
      const expected = modelOf(plan, isNothing ? {} : value, [], faults);
      const result = readShape(source, shapeOf(plan));
      assert.deepEqual(
        result.findings.map(({ line, column }) => `${line}:${column}`).toSorted(),
        faults.map((fault) => positionOf(source, fault)).toSorted(),
      );
      assert.equal(result.hasErrors, faults.length > 0);
      assert.deepEqual(result.value, expected);
    }),
    runs(300),
  );
});
