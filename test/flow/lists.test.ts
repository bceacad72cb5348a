import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  dataSet,
  encodeRecord,
  fields,
  ipfix,
  ipfixTemplates,
  packetSet,
  uint,
  uints,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { referenceData } from "../support/reference-data.ts";
import { runs } from "../support/runs.ts";

const codes = { none_of: 0, exactly_one_of: 1, one_or_more_of: 2, all_of: 3, ordered: 4, undefined: 255 };
type Semantic = keyof typeof codes;

/** What a list holds: interfaces, texts, or records of both with a list of their own. */
type List =
  | { readonly kind: "basic" | "sub"; readonly semantic: Semantic; readonly netifs: readonly number[] }
  | { readonly kind: "texts"; readonly semantic: Semantic; readonly texts: readonly string[] }
  | { readonly kind: "multi"; readonly semantic: Semantic; readonly parts: readonly Part[] };
interface Part {
  readonly netif: number;
  readonly text: string;
  readonly inner: List;
}

const netifs: PacketTemplate = { id: 300, fields: fields([10, 2]) };
const part: PacketTemplate = { id: 301, fields: fields([14, 2], [83, "variable"], [292, "variable"]) };
const multiPart: PacketTemplate = { id: 302, fields: fields([14, 2], [83, "variable"], [293, "variable"]) };
const basicPart: PacketTemplate = { id: 303, fields: fields([14, 2], [83, "variable"], [291, "variable"]) };
const elementOf = { basic: 291, texts: 291, sub: 292, multi: 293 } as const;
const partOf = { basic: basicPart, texts: basicPart, sub: part, multi: multiPart } as const;

function encode(list: List): Buffer {
  const semantic = uint(codes[list.semantic], 1);
  if (list.kind === "multi") return Buffer.concat([semantic, ...list.parts.map(encodePart)]);
  if (list.kind === "texts") {
    const texts = list.texts
      .map((text) => Buffer.from(text))
      .map((text) => Buffer.concat([uint(text.length, 1), text]));
    return Buffer.concat([semantic, uint(83, 2), uint(0xffff, 2), ...texts]);
  }
  const head = list.kind === "basic" ? [uint(10, 2), uint(2, 2)] : [uint(300, 2)];
  return Buffer.concat([semantic, ...head, ...list.netifs.map((each) => uint(each, 2))]);
}

function encodePart({ netif, text, inner }: Part): Buffer {
  const template = partOf[inner.kind];
  const record = encodeRecord(template, [uint(netif, 2), Buffer.from(text), encode(inner)]);
  return Buffer.concat([uint(template.id, 2), uint(record.length + 4, 2), record]);
}

/** The slow model: every value with the name that it gets, in order. */
function values(list: List): [name: string, value: unknown][] {
  const { semantic } = list;
  const isOwn = semantic === "all_of" || semantic === "ordered" || semantic === "undefined";
  const rename = (name: string): string =>
    name.startsWith("flow.list.") || isOwn ? name : `flow.list.${semantic}.${name.slice("flow.".length)}`;
  const inside: [string, unknown][] =
    list.kind === "multi"
      ? list.parts.flatMap((each) => valuesOfPart(each))
      : list.kind === "texts"
        ? list.texts.map((text) => ["flow.ie.interfaceDescription", text])
        : list.netifs.map((netif) => ["flow.in.netif.index", netif]);
  return [
    ["flow.list.semantics", semantic],
    ...inside.map(([name, value]): [string, unknown] => [rename(name), value]),
  ];
}

/** A record within a list: what its own list repeats of its fields goes below the list. */
function valuesOfPart({ netif, text, inner }: Part): [string, unknown][] {
  const below = values(inner).map(([name, value]): [string, unknown] =>
    name === "flow.out.netif.index" || name === "flow.ie.interfaceDescription"
      ? [`flow.list.${inner.semantic}.${name.slice("flow.".length)}`, value]
      : [name, value],
  );
  return [["flow.out.netif.index", netif], ["flow.ie.interfaceDescription", text], ...below];
}

const semantic = fc.constantFrom(...(Object.keys(codes) as Semantic[]));
const netif = fc.integer({ min: 1, max: 0xffff });
const word = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 5 });
const flat: fc.Arbitrary<List> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("basic" as const, "sub" as const),
    semantic,
    netifs: fc.array(netif, { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant("texts" as const), semantic, texts: fc.array(word, { maxLength: 4 }) }),
);
const nest = (inner: fc.Arbitrary<List>): fc.Arbitrary<List> =>
  fc.record({
    kind: fc.constant("multi" as const),
    semantic,
    parts: fc.array(fc.record({ netif, text: word, inner }), { maxLength: 3 }),
  });
const anyList = fc.oneof(flat, nest(flat));

/** Where a text list within several parts would meet the parts' own texts, golden cases show the result. */
function isPlain(list: List): boolean {
  if (list.kind !== "multi") return true;
  return list.semantic === "all_of" && list.parts.every(({ inner }) => inner.kind !== "texts");
}

test("lists of lists decode to what they were made of", () => {
  fc.assert(
    fc.property(anyList.filter(isPlain), (list) => {
      const template: PacketTemplate = { id: 256, fields: fields([8, 4], [elementOf[list.kind], "variable"]) };
      const rig = createFlowRig();
      const [decoded] = rig.send(
        ipfix([
          ipfixTemplates(netifs, part, multiPart, basicPart, template),
          dataSet(template, [Buffer.from([192, 0, 2, 1]), encode(list)]),
        ]),
      );
      const expected = new Map<string, unknown[]>();
      for (const [name, value] of values(list)) expected.set(name, [...(expected.get(name) ?? []), value]);
      const actual = Object.entries(decoded ?? {}).filter(([name]) => /^flow\.(list|in|out|ie)\./.test(name));
      assert.deepEqual(
        Object.fromEntries(actual),
        Object.fromEntries([...expected].map(([name, all]) => [name, all.length === 1 ? all[0] : all])),
      );
      assert.deepEqual(rig.log, []);
    }),
    runs(500),
  );
});

test("a list of values without end stays bytes", async () => {
  const four: PacketTemplate = { id: 300, fields: fields([4, 1], [5, 1], [60, 1], [192, 1]) };
  const template: PacketTemplate = { id: 256, fields: fields([292, "variable"]) };
  const rig = createFlowRig();
  // Six values of four bytes.
  const list = Buffer.concat([uint(3, 1), uint(300, 2), Buffer.alloc(60_000, 6)]);
  const [decoded] = rig.send(ipfix([ipfixTemplates(four, template), dataSet(template, [list])]));
  assert.equal(decoded?.["flow.hex.subTemplateList"], `0x${list.toString("hex")}`);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "ipfix", reason: "bad_list" }), 1);
});

test("fields without bytes make nothing of nothing", () => {
  const texts = [82, 83, 94, 96].map((id) => ({ id, length: 0 }));
  const template: PacketTemplate = { id: 256, fields: [{ id: 7, length: 2 }, ...texts, ...texts] };
  const rig = createFlowRig();
  const records = rig.send(ipfix([ipfixTemplates(template), packetSet(256, uints([53, 2], [80, 2]))]));
  assert.deepEqual(
    records.map((each) => Object.keys(each).filter((name) => !/^(@|flow\.export\.)/.test(name))),
    [["flow.src.l4.port.id"], ["flow.src.l4.port.id"]],
  );
});

const vendors = referenceData("flow/vendors");

test("YAF: MAC addresses and TCP details in lists become those of the flow", { skip: vendors.skip }, () => {
  const read = (name: string): Buffer => readFileSync(join(vendors.path, `ipfix_test_yaf_${name}.dat`));
  const rig = createFlowRig();
  rig.send(read("tpls_option_tpl"));
  rig.send(read("tpl45841"));
  const [tcp] = rig.send(read("data45873")) as [Json];
  const [udp] = rig.send(read("data45841")) as [Json];
  assert.deepEqual(
    ["flow.list.semantics", "flow.src.mac.addr", "flow.dst.mac.addr", "flow.src.ip.addr"].map((name) => tcp[name]),
    ["all_of", "00:0c:29:8d:af:c3", "00:0c:29:a8:6e:2f", "172.16.32.100"],
  );
  assert.deepEqual(
    ["flow.list.semantics", "flow.src.mac.addr", "flow.dst.mac.addr", "flow.dst.l4.port.id"].map((name) => udp[name]),
    ["all_of", "00:0c:29:70:86:09", "00:0c:29:8d:af:c3", 53],
  );
});

test("lists that the kernel knows, and others among them", async () => {
  // Elements of every kind of value: interfaces, ports, addresses, MAC addresses, counters, bytes, text, times, an enterprise's own.
  const elements = [
    [10, 4],
    [10, 2],
    [7, 2],
    [8, 4],
    [27, 16],
    [56, 6],
    [1, 8],
    [1, 3],
    [4, 1],
    [210, 1],
    [313, 1],
    [90, 8],
    [83, 5],
    [153, 8],
    [6, 2],
    [32, 2],
    [61, 1],
    [95, 4],
    [434, 4],
  ] as const;
  const listOf = (code: number, [id, length]: readonly [number, number], count: number, tail = 0): Buffer =>
    Buffer.concat([
      uint(code, 1),
      uint(id, 2),
      uint(length, 2),
      Buffer.from(Array.from({ length: count * length + tail }, (_, i) => (i * 37 + id) & 255)),
    ]);
  const ofVendor = (pen: number, count: number): Buffer =>
    Buffer.concat([uints([3, 1], [0x8000 | 57, 2], [2, 2], [pen, 4]), Buffer.alloc(2 * count, pen)]);
  const lists = [
    ...elements.flatMap((element) =>
      [3, 0, 4, 255].flatMap((code) => [0, 1, 2, 3].map((n) => listOf(code, element, n))),
    ),
    ...elements.map((element) => listOf(3, element, 2, 1)),
    ...[6871, 6872, 6871].flatMap((pen) => [0, 1, 2].map((count) => ofVendor(pen, count))),
    ...[0, 1, 4].map((length) => listOf(3, [10, 2], 2).subarray(0, length)),
    listOf(3, [10, 1], 5000),
  ];
  // The record itself has none of the names, one of them always, or one that follows from its bytes.
  for (const more of [fields([8, 4]), fields([10, 4]), fields([154, 8])]) {
    const template: PacketTemplate = { id: 300, fields: [...more, { id: 291, length: "variable" }] };
    const twins = await createFlowTwins({});
    twins.send(ipfix([ipfixTemplates(template)]));
    for (let turn = 0; turn < 3; turn++) {
      for (const list of turn === 1 ? lists.toReversed() : lists) {
        const before = more.map(({ length }) => uint(turn + 1, Number(length)));
        const record = encodeRecord(template, [...before, list]);
        twins.send(ipfix([packetSet(300, Buffer.concat([record, record]), { pad: false })]));
      }
    }
    const { records, slow } = await twins.finish();
    assert.equal(records, 6 * lists.length);
    assert.ok((slow["list"] ?? 0) < records, "some are written by the kernel alone");
  }
});
