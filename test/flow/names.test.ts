import assert from "node:assert/strict";
import { test } from "node:test";
import { elementNames, netflow9ScopeNames, fieldNames } from "../../src/flow/elements/mapping/element-names.ts";
import { goldenRecords } from "../support/goldens.ts";
import { findElement, knownElements, reversePen } from "../../src/flow/elements/registry/registry.ts";

/** What metadata adds to a flow besides the operator's own names. */
const metadataNames = ["flow.src", "flow.dst", "flow.export"].flatMap((object) =>
  ["ip.subnet.name", "ip.subnet.tags", "vlan.tag.id", "isInternal"].map((name) => `${object}.${name}`),
);

/** Every name that a decoder can give: known elements in both directions, unknown ones, scopes, headers, derived. */
function allNames(): Set<string> {
  const names = new Set(metadataNames);
  const add = ({ names: own, fallback }: ReturnType<typeof elementNames>): void => {
    for (const name of [...own.map((entry) => entry.name), fallback.name, fallback.hexName]) names.add(name);
  };
  for (const { pen, id } of knownElements()) {
    add(elementNames(pen, id));
    if (pen === 0) add(elementNames(reversePen, id));
  }
  for (const [pen, id] of [[0, 65] as const, [0, 50_000] as const, [9, 1] as const, [reversePen, 65] as const]) {
    add(elementNames(pen, id));
  }
  for (let scope = 0; scope < 10; scope++) add(netflow9ScopeNames(scope));
  for (const { records } of goldenRecords()) {
    for (const record of records) for (const name of Object.keys(record)) names.add(name);
  }
  return names;
}

test("no name is a value and also the group of another", () => {
  const names = allNames();
  assert.ok(names.size > 1000);
  const nested = [...names].flatMap((name) => {
    const segments = name.split(".");
    const groups = segments.slice(1).map((_, i) => segments.slice(0, i + 1).join("."));
    return groups.filter((group) => names.has(group)).map((group) => `${group} and ${name}`);
  });
  assert.deepEqual(nested, []);
});

test("names are dotted words", () => {
  const odd = [...allNames()].filter((name) => !/^@?[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*$/.test(name));
  assert.deepEqual(odd, []);
});

test("every element that has a name of ours is in a registry", () => {
  const unknown = fieldNames.filter(([id]) => findElement(0, id) === undefined);
  assert.deepEqual(unknown, []);
});

test("an element without a name of ours goes by IANA's name, a vendor's by its own or by numbers", () => {
  const name = (pen: number, id: number): string | undefined => elementNames(pen, id).names[0]?.name;
  assert.equal(name(0, 148), "flow.ie.flowId");
  assert.equal(name(637, 93), "flow.ie.nokia.aluNatSubString");
  assert.equal(name(637, 94), "flow.ie.637.94");
  assert.equal(name(6871, 33), "flow.ie.6871.33");
  assert.equal(name(4_294_967_295, 32_767), "flow.ie.4294967295.32767");
  assert.equal(name(0, 127), "flow.ie.0.127");
  assert.equal(name(reversePen, 1), "flow.reverse.bytes");
  assert.equal(name(reversePen, 148), "flow.reverse.ie.flowId");
  assert.equal(name(reversePen, 127), "flow.reverse.ie.0.127");
});

test("the registry holds all of IANA's elements and the vendors'", () => {
  const all = [...knownElements()];
  assert.equal(all.filter(({ pen, id }) => pen === 0 && id < 0x8000).length, 502);
  const pens = [...new Set(all.map(({ pen }) => pen))].toSorted((a, b) => a - b);
  assert.deepEqual(
    pens,
    [0, 9, 637, 2011, 2636, 3054, 5951, 6871, 6876, 9789, 10_704, 12_326, 15_397, 21_373, 26_866, 35_632, 41_916],
  );
  assert.deepEqual(findElement(0, 1), {
    pen: 0,
    id: 1,
    name: "octetDeltaCount",
    type: "unsigned64",
    semantics: "deltaCounter",
    units: "octets",
  });
  assert.equal(findElement(6876, 880)?.name, "tenantProtocol");
  assert.equal(findElement(35_632, 118)?.type, "unsigned16");
  assert.equal(findElement(0, 57_472 + 118)?.name, findElement(35_632, 118)?.name, "ntop's place in NetFlow v9");
  assert.equal(findElement(0, 0x8000 + 9303)?.name, findElement(9, 9303)?.name, "Cisco's place in NetFlow v9");
  assert.equal(findElement(0, 40_000)?.name, "ciscoUserName");
});
