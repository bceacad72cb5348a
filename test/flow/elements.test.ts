import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readElements } from "../../src/flow/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { runs } from "../support/runs.ts";

function read(...texts: readonly string[]): ReturnType<typeof readElements> {
  return readElements(texts.map((text, i) => ({ path: `e${i + 1}.yml`, text })));
}

/** The one record of a template with these values, without what all records have in common. */
function decode(rig: FlowRig, template: PacketTemplate, ...values: readonly Buffer[]): Json {
  const [record] = rig.send(ipfix([ipfixTemplates(template), dataSet(template, values)]));
  return Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !/^(@|flow\.export\.)/.test(name)));
}

test("elements of a file are decoded by their type, under their name", () => {
  const { elements, problems, warnings } = read(
    `# ours
6871/40: {name: yafAppLabel, type: unsigned16}
"637/91": nokia.service.id, unsigned16
9/12235: { type: string, name: flow.user.name }
9/1: ciscoPair, float32
9/2: ciscoList, basicList
0/148: session.id, unsigned64
`,
    "9/3: {name: tenant.addr, type: ipv4Address}\n",
  );
  assert.deepEqual([problems, warnings], [[], []]);
  assert.equal(elements.length, 7);
  const rig = createFlowRig({ elements });
  const template: PacketTemplate = {
    id: 256,
    fields: fields(
      [40, 2, 6871],
      [91, 2, 637],
      [12_235, 3, 9],
      [1, 4, 9],
      [2, "variable", 9],
      [148, 8],
      [148, 8, 29_305],
      [3, 4, 9],
      [93, 2, 637],
    ),
  };
  const record = decode(
    rig,
    template,
    uint(80, 2),
    uint(7, 2),
    Buffer.from("bob"),
    hex("3fc00000"),
    hex("03 0007 0002 0035 01bb"),
    uint(99, 8),
    uint(98, 8),
    ipv4("192.0.2.7"),
    Buffer.from("ab"),
  );
  assert.deepEqual(record, {
    "flow.ie.yafAppLabel": 80,
    "nokia.service.id": 7,
    "flow.user.name": "bob",
    "flow.ie.ciscoPair": 1.5,
    "session.id": 99,
    "flow.reverse.session.id": 98,
    "tenant.addr": "192.0.2.7",
    "flow.ie.nokia.aluNatSubString": "ab",
    "flow.list.semantics": "all_of",
    "flow.ie.ciscoList": [53, 443],
  });
});

test("bytes that are no value of the type stay bytes; a name of ours goes to elements of ours first", () => {
  const { elements } = read("9/1: tenant.addr, ipv4Address\n9/2: word, ipv4Address\n9/3: flow.user.name, string\n");
  const rig = createFlowRig({ elements });
  const template: PacketTemplate = { id: 256, fields: fields([1, 2, 9], [2, 2, 9], [3, 3, 9], [371, 5]) };
  const record = decode(rig, template, hex("0102"), hex("0304"), Buffer.from("bob"), Buffer.from("alice"));
  assert.deepEqual(record, {
    "flow.hex.9.1": "0x0102",
    "flow.hex.word": "0x0304",
    "flow.user.name": "alice",
    "flow.ie.9.3": "bob",
  });
});

const mistakes: readonly (readonly [text: string, problem: string | RegExp])[] = [
  ["9/1: {name: a, type: int}", /^e1\.yml:1:22: element 9\/1: type: expected one of octetArray, .*; found "int"/],
  ["9/1: {name: a}", /^e1\.yml:1:1: element 9\/1: type is missing: expected one of octetArray, /],
  ["9/1: {type: string}", "e1.yml:1:1: element 9/1: name is missing"],
  ["9/1: {name: a, type: string, note: x}", 'e1.yml:1:30: element 9/1: note: unknown key (did you mean "name"?)'],
  ["9/1: {name: a, name: b, type: string}", 'e1.yml:1:16: key "name" is given twice, first at line 1, column 7'],
  ["9/1: {name: [a], type: string}", "e1.yml:1:13: element 9/1: name: expected a text, found a list"],
  ["9/1: word", 'e1.yml:1:6: element 9/1: expected a text "name, type"; found "word"'],
  [
    "9/1: a, strin",
    /^e1\.yml:1:6: element 9\/1: expected one of octetArray, .*; found "strin" \(did you mean "string"\?\)$/,
  ],
  ["9/1: [a, string]", 'e1.yml:1:6: element 9/1: expected a text "name, type", found a list'],
  [
    "9-1: a, string",
    'e1.yml:1:1: element 9-1: expected an enterprise number and an element id as in 9/12235, found "9-1"',
  ],
  ["4294967296/1: a, string", /^e1\.yml:1:1: element 4294967296\/1: expected an enterprise number/],
  ["9/0: a, string", "e1.yml:1:1: element 9/0: an element id is from 1 to 32767, not 0"],
  ["9/40000: a, string", "e1.yml:1:1: element 9/40000: an element id is from 1 to 32767, not 40000"],
  ["0/65536: a, string", /^e1\.yml:1:1: element 0\/65536: an element id is from 1 to 65535/],
  ["29305/1: a, string", /^e1\.yml:1:1: element 29305\/1: 29305 stands for the reverse direction/],
  ["9/1: a b, string", /^e1\.yml:1:1: element 9\/1: a name is letters, digits and _/],
  ["9/1: a..b, string", /^e1\.yml:1:1: element 9\/1: a dotted name is words/],
  [`9/1: ${"a".repeat(129)}, string`, "e1.yml:1:1: element 9/1: a name has at most 128 characters"],
  ["9/1: flowId, string", "e1.yml:1:1: element 9/1: flowId is the name of IANA's element 148"],
  ["9/1: flow.bytes, string", "e1.yml:1:1: element 9/1: flow.bytes is a number, so string cannot have that name"],
  [
    "9/1: l4.proto.name, string",
    "e1.yml:1:1: element 9/1: l4.proto.name follows from another value and cannot be given",
  ],
  ["9/1: flow.bytes.x, string", /^e1\.yml:1:1: element 9\/1: flow\.bytes\.x and flow\.bytes: no name/],
  ["9/1: l4.proto, string", /^e1\.yml:1:1: element 9\/1: l4\.proto and l4\.proto\.id: no name/],
  ["9/1: flow.ie.x, string", "e1.yml:1:1: element 9/1: flow.ie.x: flow.ie is kept for other values"],
  ["9/1: flow.export.x, string", "e1.yml:1:1: element 9/1: flow.export.x: flow.export is kept for other values"],
  [
    "9/1: flow.src.site, string",
    /^e1\.yml:1:1: element 9\/1: flow\.src\.site: below flow\.src only these are for elements/,
  ],
  ["9/1: a.b, string\n9/2: a.b.c, string", /^e1\.yml:2:1: element 9\/2: a\.b\.c and a\.b: no name/],
  ["9/1: a, string\n9/2: a, unsigned8", "e1.yml:2:1: element 9/2: a has another type at e1.yml:1:1"],
  ["9/1: a, string\n9/1: b, string", 'e1.yml:2:1: key "9/1" is given twice, first at line 1, column 1'],
  ["- 9/1", "e1.yml:1:1: expected a mapping, found a list"],
  ["9/1: {name: a", /^e1\.yml:1:14: /],
  ["9/1: a, string\n---\n9/2: b, string", /^e1\.yml:3:1: a second document: the file must hold one$/],
];

for (const [text, problem] of mistakes) {
  test(`refused: ${text.slice(0, 50).replaceAll("\n", "; ")}`, () => {
    const { problems } = read(text);
    assert.equal(problems.length, 1, problems.join("\n"));
    if (typeof problem === "string") assert.equal(problems[0], problem);
    else assert.match(problems[0] ?? "", problem);
  });
}

test("an element twice in two files names both places; an empty file is no elements", () => {
  assert.deepEqual(read("9/1: a, string\n", "9/1: a, string").problems, [
    "e2.yml:1:1: element 9/1: is there twice, first at e1.yml:1:1",
  ]);
  assert.deepEqual(read("", "# nothing\n"), { elements: [], problems: [], warnings: [] });
});

test("elements that have names of ours keep them, with a warning", () => {
  const { elements, warnings } = read("0/8: client, ipv4Address\n0/70: label, octetArray\n");
  assert.deepEqual(elements, []);
  assert.deepEqual(warnings, [
    "e1.yml:1:1: element 0/8: has no effect: that element has names of ours",
    "e1.yml:2:1: element 0/70: has no effect: that element has names of ours",
  ]);
});

test("whatever the text, it is read or refused with a place", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "9/1",
      "0/8",
      ": ",
      ", ",
      "{",
      "}",
      "[",
      "]",
      "\n",
      "name",
      "type",
      "string",
      "- ",
      "*a",
      "&a ",
      "? ",
    ),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      for (const problem of read(pieces.join("")).problems) assert.match(problem, /^e1\.yml:\d+:\d+: ./s);
    }),
    runs(1000),
  );
});
