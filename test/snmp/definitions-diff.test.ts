import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changeEffect,
  deviceGroupsOf,
  diffDefinitions,
  type ChangeClass,
  type Definitions,
  type DefinitionsDiff,
} from "../../src/snmp/index.ts";
import { baseFiles, DefinitionTree, type Files } from "../support/definition-tree.ts";

const ifFile = baseFiles["objects/if.yml"] as string;
const id = "192.0.2.1:161";
const lab = "r1:\n  ip: 192.0.2.1\n  communities: [sesame]\n  device_groups:\n    - router\n";
const inIf = (from: string, to: string): Files => {
  assert.ok(ifFile.includes(from), from);
  return { "objects/if.yml": ifFile.replace(from, to) };
};
const more = "M-MIB::x:\n  attributes:\n    a: {oid: .1.3.6.1.9, name: m.a, syntax: Integer32}\n";
const groups = baseFiles["object_groups/all.yml"] as string;

/** Each row of the table of changes: what is changed, and what the device sees of it. */
const rows: readonly [string, Files, readonly [ChangeClass, string?][]][] = [
  ["credentials", { "devices/lab.yml": lab.replace("sesame", "other") }, [["access"]]],
  ["order of credentials", { "devices/lab.yml": lab.replace("[sesame]", "[sesame, b]") }, [["access"]]],
  ["version", { "devices/lab.yml": `${lab}  version: 3\n  v3_credentials: [{username: u}]\n` }, [["access"]]],
  [
    "device_groups",
    { "devices/lab.yml": lab.replace("- router", "- generic") },
    [["access"], ["removal", "IF-MIB::ifTable"], ["removal", "IF-MIB::ifXTable"]],
  ],
  ["interval of the device", { "devices/lab.yml": `${lab}  poll_interval: 61\n` }, [["schedule"]]],
  ["interval of the device for a type", { "devices/lab.yml": `${lab}  poll_intervals: {stable: 5}\n` }, [["schedule"]]],
  ["time-out by the defaults", { "defaults/device.yml": "timeout: 100\n" }, [["schedule"]]],
  ["maxima", { "devices/lab.yml": `${lab}  max_oids: 5\n` }, [["schedule"]]],
  ["name of the device", { "devices/lab.yml": lab.replace("r1", "router1") }, [["schedule"]]],
  [
    "interval of an object type",
    { "defaults/object_types.yml": "dynamic:\n  poll_interval: 61\nstable:\n  poll_interval: 3600\n" },
    [["schedule"]],
  ],
  ["type of an object", inIf("  type: dynamic\n  index", "  type: stable\n  index"), [["schedule"]]],
  [
    "labels",
    { "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.8:\n  1: 'on'\n  2: 'down'\n" },
    [["schedule", "IF-MIB::ifTable ifOperStatus"]],
  ],
  ["name of an attribute", inIf("name: netif.descr", "name: netif.text"), [["reading", "IF-MIB::ifTable ifDescr"]]],
  ["syntax", inIf("syntax: Counter64", "syntax: BytesB"), [["reading", "IF-MIB::ifXTable ifHCInOctets"]]],
  ["tag", inIf("      tag: true\n    ifOperStatus", "    ifOperStatus"), [["reading", "IF-MIB::ifTable ifDescr"]]],
  ["metric", inIf("      metric: counter\n\n", "\n"), [["reading", "IF-MIB::ifTable ifInOctets"]]],
  [
    "rediscover",
    inIf("      tag: true\n    ifOper", "      tag: true\n      rediscover: OnChange\n    ifOper"),
    [["reading", "IF-MIB::ifTable ifDescr"]],
  ],
  [
    "overrides",
    inIf("      overrides:\n        object: IF-MIB::ifTable\n        attribute: ifInOctets\n", ""),
    [["reading", "IF-MIB::ifXTable ifHCInOctets"]],
  ],
  [
    "name of an index part, also of what augments it",
    inIf("name: netif\n", "name: port\n"),
    [
      ["reading", "IF-MIB::ifTable"],
      ["reading", "IF-MIB::ifXTable"],
    ],
  ],
  [
    "object removed",
    { "objects/sys.yaml": "", "object_groups/all.yml": groups.replace("    - SNMPv2-MIB::system\n", "    []\n") },
    [["removal", "SNMPv2-MIB::system"]],
  ],
  [
    "attribute removed",
    inIf(
      "    ifInOctets:\n      oid: .1.3.6.1.2.1.2.2.1.10\n      name: netif.bytes.in\n      syntax: Counter32\n      metric: counter\n",
      "",
    ),
    [["removal", "IF-MIB::ifTable ifInOctets"]],
  ],
  [
    "object added",
    { "objects/more.yml": more, "object_groups/all.yml": `${groups}    - M-MIB::x\n` },
    [["extension", "M-MIB::x"]],
  ],
  [
    "object group added",
    {
      "objects/more.yml": more,
      "object_groups/more.yml": "more:\n  objects: [M-MIB::x]\n",
      "device_groups/all.yml": `${baseFiles["device_groups/all.yml"]}    - more\n`,
    },
    [["extension", "M-MIB::x"]],
  ],
  [
    "attribute added",
    inIf(
      "    ifOperStatus:",
      "    ifMtu:\n      oid: .1.3.6.1.2.1.2.2.1.4\n      name: netif.mtu\n      syntax: Integer32\n    ifOperStatus:",
    ),
    [["extension", "IF-MIB::ifTable ifMtu"]],
  ],
  [
    "OID",
    inIf("oid: .1.3.6.1.2.1.2.2.1.10", "oid: .1.3.6.1.2.1.2.2.1.12"),
    [["extension", "IF-MIB::ifTable ifInOctets"]],
  ],
  [
    "index, also of what augments it",
    inIf("type: Integer\n", "type: Unsigned32\n"),
    [
      ["extension", "IF-MIB::ifTable"],
      ["extension", "IF-MIB::ifXTable"],
    ],
  ],
  [
    "discovery_attribute",
    inIf("discovery_attribute: ifDescr", "discovery_attribute: ifInOctets"),
    [["extension", "IF-MIB::ifTable"]],
  ],
  [
    "contexts",
    inIf("discovery_attribute: ifDescr", "discovery_attribute: ifDescr\n  contexts: [vlan-1]"),
    [["extension", "IF-MIB::ifTable"]],
  ],
  [
    "nothing but comments, order and files",
    { "objects/if.yml": "# moved\n", "objects/other/if.yml": `# from there\n${ifFile}` },
    [],
  ],
  ["an object that the device does not reach", { "objects/more.yml": more }, []],
];

async function load(t: Parameters<typeof DefinitionTree.make>[0], changes: Files = {}): Promise<Definitions> {
  const tree = await DefinitionTree.make(t, changes);
  const { definitions } = await tree.load("start");
  assert.ok(definitions);
  return definitions;
}

function changesOf(diff: DefinitionsDiff): [ChangeClass, string?][] {
  const changes = diff.devices.get(id) ?? [];
  return changes.map(({ class: change, subject }) => (subject === undefined ? [change] : [change, subject]));
}

for (const [what, changes, expected] of rows) {
  test(`difference: ${what}`, async (t) => {
    const old = await load(t);
    const next = await load(t, changes);
    assert.deepEqual(changesOf(diffDefinitions(old, next)), expected);
    const back = diffDefinitions(next, old);
    const mirrored = { added: "removed", removed: "added", removal: "extension", extension: "removal" } as const;
    const isSymmetric = expected.every(([changeClass]) => !(changeClass in mirrored));
    if (isSymmetric) assert.deepEqual(changesOf(back), expected);
    assert.equal(back.devices.size > 0, expected.length > 0);
    assert.equal(old.revision === next.revision, what.startsWith("nothing"));
  });
}

test("difference: a device that comes, goes, or moves to another address", async (t) => {
  const old = await load(t);
  const next = await load(t, { "devices/lab.yml": lab.replace("192.0.2.1", "192.0.2.2") });
  const diff = diffDefinitions(old, next);
  assert.deepEqual(diff.byKind.device, { added: ["192.0.2.2:161"], changed: [], removed: [id] });
  assert.deepEqual(Object.fromEntries(diff.devices), {
    [id]: [{ class: "removed", subject: undefined }],
    "192.0.2.2:161": [{ class: "added", subject: undefined }],
  });
  const port = diffDefinitions(old, await load(t, { "devices/lab.yml": `${lab}  port: 1161\n` }));
  assert.deepEqual(port.byKind.device, { added: ["192.0.2.1:1161"], changed: [], removed: [id] });
});

test("difference: what was added, changed and removed, by kind", async (t) => {
  const old = await load(t);
  const next = await load(t, {
    ...inIf("netif.descr", "netif.text"),
    "objects/sys.yaml": more,
    "object_groups/all.yml": "netif: {objects: [IF-MIB::ifXTable]}\nother: {objects: [M-MIB::x]}\n",
    "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.7:\n  1: x\n",
    "autodiscover/sysoids/all.yml": ".1.3.6.1.4.1.9.1: generic\n",
    "defaults/object_types.yml": "dynamic:\n  poll_interval: 1\nother:\n  poll_interval: 1\n",
  });
  const { byKind } = diffDefinitions(old, next);
  assert.deepEqual(byKind.object, {
    added: ["M-MIB::x"],
    changed: ["IF-MIB::ifTable"],
    removed: ["SNMPv2-MIB::system"],
  });
  assert.deepEqual(byKind.object_group, { added: ["other"], changed: ["netif"], removed: ["system"] });
  assert.deepEqual(byKind.enum_integer, {
    added: [".1.3.6.1.2.1.2.2.1.7"],
    changed: [],
    removed: [".1.3.6.1.2.1.2.2.1.8"],
  });
  assert.deepEqual(byKind.sysoid, { added: [], changed: [".1.3.6.1.4.1.9.1"], removed: [] });
  assert.deepEqual(byKind.object_type, { added: ["other"], changed: ["dynamic"], removed: ["stable"] });
  assert.deepEqual(byKind.device, { added: [], changed: [], removed: [] });
});

test("difference: groups that follow from the sysObjectID", async (t) => {
  const auto = { "devices/lab.yml": lab.replace("- router", "- auto") };
  const old = await load(t, auto);
  const next = await load(t, { ...auto, "autodiscover/sysoids/all.yml": ".1.3.6.1.4.1.9.1: generic\n" });
  const cisco = [1, 3, 6, 1, 4, 1, 9, 1, 617];
  const diff = diffDefinitions(old, next, (definitions, device) => deviceGroupsOf(definitions, device, cisco));
  assert.deepEqual(changesOf(diff), [["access"], ["removal", "IF-MIB::ifTable"], ["removal", "IF-MIB::ifXTable"]]);
  assert.deepEqual(changesOf(diffDefinitions(old, next)), [], "a device that is taken for generic sees nothing");
});

test("what a change makes a poller do, without and with force", () => {
  const table = (["added", "removed", "access", "schedule", "reading", "removal", "extension"] as const).map(
    (change) => [change, changeEffect(change, false), changeEffect(change, true)],
  );
  assert.deepEqual(table, [
    ["added", "discover", "discover"],
    ["removed", "stop", "stop"],
    ["access", "discover", "discover"],
    ["schedule", "next-poll", "next-poll"],
    ["reading", "next-poll", "rediscover"],
    ["removal", "drop", "rediscover"],
    ["extension", "wait", "rediscover"],
  ]);
});
