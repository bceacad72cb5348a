import assert from "node:assert/strict";
import { test } from "node:test";
import { formatFinding, readNetworks } from "../../src/snmp/index.ts";
import { baseFiles, DefinitionTree, type Files } from "../support/definition-tree.ts";

const ifFile = baseFiles["objects/if.yml"] as string;
const device = (text: string): Files => ({
  "devices/lab.yml": `r1:\n  ip: 192.0.2.1\n  communities: [sesame]\n${text}`,
});
const inIf = (from: string, to: string): Files => {
  assert.ok(ifFile.includes(from), from);
  return { "objects/if.yml": ifFile.replace(from, to) };
};

/** What is changed in the base set, and all that the loader then says. */
const cases: readonly [string, Files, readonly string[]][] = [
  ["nothing", {}, []],
  [
    "an unknown syntax",
    inIf("syntax: Counter64", "syntax: Counter46"),
    [
      'error: objects/if.yml:37:15: IF-MIB::ifXTable: attribute ifHCInOctets: syntax: expected a syntax, such as Counter64; found "Counter46" (did you mean "Counter64"?)',
    ],
  ],
  [
    "a misspelt setting of an attribute",
    inIf("      tag: true\n    ifOperStatus", "      tags: true\n    ifOperStatus"),
    ['error: objects/if.yml:14:7: IF-MIB::ifTable: attribute ifDescr: tags: unknown key (did you mean "tag"?)'],
  ],
  [
    "a setting of another program",
    inIf("  type: dynamic\n  augments", "  type: dynamic\n  poller_hint: fast\n  augments"),
    ["warning: objects/if.yml:27:3: IF-MIB::ifXTable: poller_hint: unknown key is ignored"],
  ],
  [
    "an OID with a mistake",
    inIf("oid: .1.3.6.1.2.1.31.1.1.1.6", "oid: .1.3.6.1..6"),
    [
      'error: objects/if.yml:35:12: IF-MIB::ifXTable: attribute ifHCInOctets: oid: expected an OID such as .1.3.6.1.2.1.1.5, found ".1.3.6.1..6"',
    ],
  ],
  [
    "an identity with faults",
    {
      "autodiscover/identities/mine.yml": [
        ".1.3.6.1.4.1.5:",
        "  vendor: Mine",
        "  model:",
        "    - {descr: '('}",
        "    - {oid: .1.3.6.1..4}",
        "    - {entity: modle}",
        "    - {match: 'x'}",
        "  serail: {entity: serial}",
        "  models: {abc: X1}",
        "",
      ].join("\n"),
    },
    [
      'error: autodiscover/identities/mine.yml:4:15: .1.3.6.1.4.1.5: model 1: descr: "(" is not a regular expression of RE2: missing closing ): `(`',
      'error: autodiscover/identities/mine.yml:5:13: .1.3.6.1.4.1.5: model 2: oid: expected an OID such as .1.3.6.1.2.1.1.5, found ".1.3.6.1..4"',
      'error: autodiscover/identities/mine.yml:6:16: .1.3.6.1.4.1.5: model 3: entity: expected one of model, serial, software, manufacturer, descr; found "modle" (did you mean "model"?)',
      "error: autodiscover/identities/mine.yml:7:7: .1.3.6.1.4.1.5: model 4: expected one of oid, descr and entity",
      'error: autodiscover/identities/mine.yml:8:3: .1.3.6.1.4.1.5: serail: unknown key (did you mean "serial"?)',
      'error: autodiscover/identities/mine.yml:9:12: .1.3.6.1.4.1.5: models: abc: expected the end of an OID, such as 1208; found "abc"',
    ],
  ],
  [
    "patterns that would not take linear time, or too much of it",
    {
      "autodiscover/identities/mine.yml":
        ".1.3.6.1.4.1.5:\n  model:\n    - {descr: '(?!x)y'}\n    - {descr: '(x)\\1'}\n    - {descr: 'a{1000}b{1000}c{1000}'}\n    - {descr: '(a+)+$'}\n",
    },
    [
      'error: autodiscover/identities/mine.yml:3:15: .1.3.6.1.4.1.5: model 1: descr: "(?!x)y" is not a regular expression of RE2: invalid or unsupported Perl syntax: `(?!`',
      'error: autodiscover/identities/mine.yml:4:15: .1.3.6.1.4.1.5: model 2: descr: "(x)\\\\1" is not a regular expression of RE2: invalid escape sequence: `\\1`',
      'error: autodiscover/identities/mine.yml:5:15: .1.3.6.1.4.1.5: model 3: descr: the regular expression "a{1000}b{1000}c{1000}" is too large: repeat less in it',
    ],
  ],
  [
    "fixed fields with faults",
    inIf("  attributes:\n    ifDescr", "  fields: {a b: x, c.d: [1]}\n  attributes:\n    ifDescr"),
    [
      'error: objects/if.yml:9:12: IF-MIB::ifTable: fields: "a b": expected a field name such as netif.bytes.in, found "a b"',
      "error: objects/if.yml:9:25: IF-MIB::ifTable: fields: c.d: expected a text, found a list",
    ],
  ],
  [
    "one OID for two attributes",
    inIf(".1.3.6.1.2.1.2.2.1.10", ".1.3.6.1.2.1.2.2.1.8"),
    [
      "error: objects/if.yml:20:12: IF-MIB::ifTable: attribute ifInOctets: oid: .1.3.6.1.2.1.2.2.1.8 is the OID of ifOperStatus already",
    ],
  ],
  [
    "one name for two attributes",
    inIf("name: netif.bytes.in\n      syntax: Counter32", "name: netif.descr\n      syntax: Counter32"),
    [
      "warning: objects/if.yml:21:13: IF-MIB::ifTable: attribute ifInOctets: name: ifDescr has the same name netif.descr",
    ],
  ],
  [
    "the name of the index for an attribute",
    inIf("name: netif.bytes.in\n      syntax: Counter32", "name: netif.index\n      syntax: Counter32"),
    ["error: objects/if.yml:21:13: IF-MIB::ifTable: attribute ifInOctets: name: index 1 has the same name netif.index"],
  ],
  [
    "a range of readings that is none",
    inIf(
      "name: netif.bytes.in\n      syntax: Counter32",
      "name: netif.bytes.in\n      range: [5, 1]\n      syntax: Counter32",
    ),
    [
      "error: objects/if.yml:22:14: IF-MIB::ifTable: attribute ifInOctets: range: expected the least and the greatest reading, such as [-50, 1200]",
    ],
  ],
  [
    "a scale without a word for what it is",
    inIf(
      "name: netif.bytes.in\n      syntax: Counter32",
      "name: netif.bytes.in\n      scale: {attribute: ifDesc}\n      syntax: Counter32",
    ),
    ["error: objects/if.yml:22:7: IF-MIB::ifTable: attribute ifInOctets: scale: expected either as or factors"],
  ],
  [
    "a scale by a part of the index that is not there",
    inIf(
      "name: netif.bytes.in\n      syntax: Counter32",
      "name: netif.bytes.in\n      scale: {index: netiff, factors: {1: 0.1}}\n      syntax: Counter32",
    ),
    [
      'error: objects/if.yml:22:22: IF-MIB::ifTable: attribute ifInOctets: scale: index: no part of the index has the name "netiff" (did you mean "netif"?)',
    ],
  ],
  [
    "texts by a field that is not there, and with one",
    inIf(
      "  attributes:\n    ifDescr",
      "  fields_by: {netif.stat.name: {up: {a.b: x}}, netif.name: {upp: {a.c: '{netif.nam}'}}}\n  attributes:\n    ifDescr",
    ),
    [
      'error: objects/if.yml:9:15: IF-MIB::ifTable: fields_by: netif.stat.name: no field "netif.stat.name" in the row',
      'error: objects/if.yml:9:72: IF-MIB::ifTable: fields_by: netif.name: upp: a.c: no field "netif.nam" in the row (did you mean "netif.name"?)',
    ],
  ],
  [
    "a scale by an attribute that is not there",
    inIf(
      "name: netif.bytes.in\n      syntax: Counter32",
      "name: netif.bytes.in\n      scale: {attribute: ifDesc, as: digits}\n      syntax: Counter32",
    ),
    [
      'error: objects/if.yml:22:26: IF-MIB::ifTable: attribute ifInOctets: scale: attribute: no attribute "ifDesc" (did you mean "ifDescr"?)',
    ],
  ],
  [
    "a reading of a sensor without a unit",
    inIf("name: netif.bytes.in\n      syntax: Counter32", "name: hw.sensor.value\n      syntax: Gauge32"),
    [
      "warning: objects/if.yml:21:13: IF-MIB::ifTable: attribute ifInOctets: name: hw.sensor.value has no unit, so that readings that cannot be true are not recognized: give a syntax with a unit, hw.sensor.unit, or a range",
    ],
  ],
  [
    "a text that names no field of the row, and one under the name of the index",
    inIf("  attributes:\n", "  fields: {hw.name: 'If {netif.descri}', netif.index: '1'}\n  attributes:\n"),
    [
      'error: objects/if.yml:9:21: IF-MIB::ifTable: fields: hw.name: no field "netif.descri" in the row (did you mean "netif.descr"?)',
      "error: objects/if.yml:9:42: IF-MIB::ifTable: fields: netif.index: a part of the index has the same name netif.index",
    ],
  ],
  [
    "a name below another",
    inIf("name: netif.bytes.in\n      syntax: Counter32", "name: netif.descr.in\n      syntax: Counter32"),
    [
      "error: objects/if.yml:21:13: IF-MIB::ifTable: attribute ifInOctets: name: netif.descr.in lies below the name of ifDescr",
    ],
  ],
  [
    "a name below that of another object",
    {
      "objects/other.yml":
        "X::other:\n  attributes:\n    xOther: {oid: .1.3.6.1.4.1.1, name: netif.descr.more.of.it, syntax: Integer32}\n",
    },
    [
      "warning: objects/other.yml:3:41: X::other: attribute xOther: name netif.descr.more.of.it lies below netif.descr of IF-MIB::ifTable: stores such as Elasticsearch refuse one of them",
    ],
  ],
  [
    "two metrics of one name, and one of two kinds",
    {
      "objects/other.yml":
        "X::other:\n  attributes:\n    xIn: {oid: .1.3.6.1.4.1.1, name: netif.bytes_in, syntax: Counter32, metric: counter}\n" +
        "    xOut: {oid: .1.3.6.1.4.1.2, name: netif.bytes.in, syntax: Gauge32, metric: gauge}\n",
    },
    [
      "warning: objects/other.yml:3:38: X::other: attribute xIn: netif.bytes_in is the metric snmp_netif_bytes_in_total, as is netif.bytes.in of IF-MIB::ifTable",
      "warning: objects/other.yml:4:80: X::other: attribute xOut: netif.bytes.in is a gauge here, and a counter in IF-MIB::ifTable",
    ],
  ],
  [
    "a discovery attribute that is not there",
    inIf("discovery_attribute: ifDescr", "discovery_attribute: ifDesc"),
    [
      'error: objects/if.yml:8:24: IF-MIB::ifTable: discovery_attribute: no attribute "ifDesc" (did you mean "ifDescr"?)',
    ],
  ],
  [
    "an implicit part before another",
    inIf(
      "    - type: Integer\n",
      "    - type: ImplicitOctetString\n      oid: .1.3.6.1\n      name: a\n      syntax: OctetString\n    - type: Integer\n",
    ),
    [
      "error: objects/if.yml:4:13: IF-MIB::ifTable: index 1: type: ImplicitOctetString takes all that follows, so it can only be the last part",
    ],
  ],
  [
    "an unknown index type",
    inIf("- type: Integer", "- type: Integr"),
    [
      'error: objects/if.yml:4:13: IF-MIB::ifTable: index 1: type: expected one of Integer, Integer32, Unsigned32, IpAddress, MacAddress, OctetString, Opaque, ObjectIdentifier, ImplicitOctetString, ImplicitObjectIdentifier; found "Integr" (did you mean "Integer"?)',
    ],
  ],
  [
    "index and augments together",
    inIf(
      "  augments: IF-MIB::ifTable\n",
      "  augments: IF-MIB::ifTable\n  index:\n    - {type: Integer, oid: .1.3.6, name: x, syntax: Integer32}\n",
    ),
    ["error: objects/if.yml:27:3: IF-MIB::ifXTable: augments: either index or augments, not both"],
  ],
  [
    "augments of what does not exist",
    inIf("augments: IF-MIB::ifTable", "augments: IF-MIB::ifTabel"),
    [
      'warning: objects/if.yml:27:13: IF-MIB::ifXTable: augments: object "IF-MIB::ifTabel" does not exist (did you mean "IF-MIB::ifTable"?)',
    ],
  ],
  [
    "augments in a circle",
    inIf("augments: IF-MIB::ifTable", "augments: IF-MIB::ifXTable"),
    ["error: objects/if.yml:27:13: IF-MIB::ifXTable: augments: IF-MIB::ifXTable augments IF-MIB::ifXTable"],
  ],
  [
    "a poll_interval where object types have intervals of their own",
    {
      "devices/lab.yml":
        "r1: {ip: 192.0.2.1, communities: [sesame], poll_interval: 5}\n" +
        "r2: {ip: 192.0.2.2, communities: [sesame], poll_interval: 5}\n" +
        "r3: {ip: 192.0.2.3, communities: [sesame], poll_interval: 5, poll_intervals: {dynamic: 5}}\n",
    },
    [
      "warning: devices/lab.yml:1:44: r1: poll_interval (and of 1 more devices) does not change how often objects of the types dynamic, stable are polled: set poll_intervals",
    ],
  ],
  [
    "overrides of what does not exist",
    inIf("attribute: ifInOctets", "attribute: ifInOctet"),
    [
      'warning: objects/if.yml:41:20: IF-MIB::ifXTable: attribute ifHCInOctets: overrides: object IF-MIB::ifTable has no attribute "ifInOctet" (did you mean "ifInOctets"?)',
    ],
  ],
  [
    "an enumeration without labels",
    { "enums/integer/if.yml": "" },
    [
      "warning: objects/if.yml:18:15: IF-MIB::ifTable: attribute ifOperStatus: no enumeration has the labels of .1.3.6.1.2.1.2.2.1.8",
    ],
  ],
  [
    "an unknown object type",
    { "objects/sys.yaml": (baseFiles["objects/sys.yaml"] as string).replace("stable", "stabel") },
    [
      'warning: objects/sys.yaml:2:9: SNMPv2-MIB::system: type: no object type "stabel", so the device\'s poll_interval counts (did you mean "stable"?)',
    ],
  ],
  [
    "an object's id without its MIB",
    { "objects/sys.yaml": (baseFiles["objects/sys.yaml"] as string).replace("SNMPv2-MIB::system", "system") },
    [
      'error: object_groups/all.yml:7:7: system: object "SNMPv2-MIB::system" does not exist',
      "error: objects/sys.yaml:1:1: system: an object's id is of the form MIB::object",
    ],
  ],
  [
    "an id in two files",
    {
      "objects/more/again.yml":
        "\nSNMPv2-MIB::system:\n  attributes:\n    a: {oid: .1.3, name: a, syntax: Integer32}\n",
    },
    ["error: objects/sys.yaml:1:1: SNMPv2-MIB::system: is there twice, first at objects/more/again.yml:2:1"],
  ],
  [
    "an id twice in one file",
    { "object_groups/all.yml": "netif:\n  objects: []\nsystem:\n  objects: []\nnetif:\n  objects: []\n" },
    [
      'error: device_groups/all.yml:3:7: generic: object group "system" does not exist',
      'error: device_groups/all.yml:6:7: router: object group "system" does not exist',
      'error: device_groups/all.yml:7:7: router: object group "netif" does not exist',
      'error: object_groups/all.yml:5:1: key "netif" is given twice, first at line 1, column 1',
    ],
  ],
  [
    "a setting twice",
    inIf("  discovery_attribute: ifDescr\n", "  discovery_attribute: ifDescr\n  'type': stable\n"),
    [
      'error: object_groups/all.yml:3:7: netif: object "IF-MIB::ifTable" does not exist',
      'error: object_groups/all.yml:4:7: netif: object "IF-MIB::ifXTable" does not exist',
      'error: objects/if.yml:9:3: key "type" is given twice, first at line 2, column 3',
    ],
  ],
  [
    "groups that do not exist",
    {
      "object_groups/all.yml": "netif: {objects: [IF-MIB::ifTabel]}\nsystem: {objects: [SNMPv2-MIB::system]}\n",
      "device_groups/all.yml": "generic: {object_groups: [systems]}\nrouter: {object_groups: [netif]}\n",
      "autodiscover/sysoids/all.yml": ".1.3.6.1.4.1.9.1: [router, routers]\n",
    },
    [
      'error: autodiscover/sysoids/all.yml:1:28: .1.3.6.1.4.1.9.1: device group "routers" does not exist (did you mean "router"?)',
      'error: device_groups/all.yml:1:27: generic: object group "systems" does not exist (did you mean "system"?)',
      'error: object_groups/all.yml:1:19: netif: object "IF-MIB::ifTabel" does not exist (did you mean "IF-MIB::ifTable"?)',
    ],
  ],
  [
    "labels that are none",
    {
      "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.8:\n  1: up\n  two: down\n  3: []\n",
      "enums/bitmap/sys.yml": ".1.3.6.1.2:\n  -1: x\n",
      "enums/oid/sys.yml": ".1.3.6.1.3:\n  linux: x\nsysObjectID:\n  .1.3: x\n",
    },
    [
      'error: enums/bitmap/sys.yml:2:3: .1.3.6.1.2: -1: expected a bit number, found "-1"',
      'error: enums/integer/if.yml:3:3: .1.3.6.1.2.1.2.2.1.8: two: expected a whole number, found "two"',
      "error: enums/integer/if.yml:4:6: .1.3.6.1.2.1.2.2.1.8: 3: expected a text, found a list",
      'error: enums/oid/sys.yml:2:3: .1.3.6.1.3: linux: expected an OID such as .1.3.6.1.2.1.1.5, found "linux"',
      'error: enums/oid/sys.yml:3:1: sysObjectID: expected an OID such as .1.3.6.1.2.1.1.5, found "sysObjectID"',
      "warning: objects/if.yml:18:15: IF-MIB::ifTable: attribute ifOperStatus: no enumeration has the labels of .1.3.6.1.2.1.2.2.1.8",
    ],
  ],
  [
    "wrong values of a device",
    device(
      "  port: 70000\n  retries: two\n  exponential_timeout: maybe\n  version: v2c\n  max_oids: 0\n  poll_intervals:\n    dynamc: 30\n  device_groups: [ruter]\n",
    ),
    [
      'error: devices/lab.yml:4:9: r1: port: expected a whole number from 1 to 65535, found "70000"',
      'error: devices/lab.yml:5:12: r1: retries: expected a whole number from 0 to 100, found "two"',
      'error: devices/lab.yml:6:24: r1: exponential_timeout: expected true or false, found "maybe"',
      'error: devices/lab.yml:7:12: r1: version: expected one of 1, 2c, 3; found "v2c" (did you mean "2c"?)',
      'error: devices/lab.yml:8:13: r1: max_oids: expected a whole number from 1 to 10000, found "0"',
    ],
  ],
  [
    "references of a device",
    device("  poll_intervals:\n    dynamc: 30\n  device_groups: [ruter]\n"),
    [
      'warning: devices/lab.yml:5:5: r1: poll_intervals: no object type "dynamc" (did you mean "dynamic"?)',
      'error: devices/lab.yml:6:19: r1: device_groups: device group "ruter" does not exist (did you mean "router"?)',
    ],
  ],
  [
    "a device without an address",
    { "devices/lab.yml": "r1:\n  communities: [x]\nr2:\n  ip: router.example\n  communities: [x]\nr3:\n" },
    [
      "error: devices/lab.yml:1:1: r1: ip is missing: expected an IP address",
      'error: devices/lab.yml:4:7: r2: ip: expected an IP address, found "router.example"',
      "error: devices/lab.yml:6:1: r3: expected a mapping, found nothing",
    ],
  ],
  [
    "two devices at one address",
    device("r2:\n  ip: 192.0.2.1\n  port: 161\n  communities: [x]\n"),
    ['error: devices/lab.yml:4:1: r2: 192.0.2.1:161 is the device "r1" already, first at devices/lab.yml:1:1'],
  ],
  [
    "credentials",
    {
      "devices/lab.yml": `r1:
  ip: 192.0.2.1
r2:
  ip: 192.0.2.2
  version: 3
r3:
  ip: 192.0.2.3
  version: 3
  v3_credentials:
    - username: u
      authentication_protocol: sha265
    - username: u
      authentication_protocol: sha
      authentication_passphrase: short
    - username: u
      privacy_protocol: aes
      privacy_passphrase: long-enough
    - authentication_protocol: md5
    - u
`,
    },
    [
      "error: devices/lab.yml:1:1: r1: version 2c needs communities, and there are none",
      "error: devices/lab.yml:3:1: r2: version 3 needs v3_credentials, and there are none",
      'error: devices/lab.yml:11:32: r3: v3_credentials 1: authentication_protocol: expected one of noauth, md5, sha, sha224, sha256, sha384, sha512; found "sha265" (did you mean "sha256"?)',
      "error: devices/lab.yml:14:34: r3: v3_credentials 2: authentication_passphrase: expected at least 8 characters",
      "error: devices/lab.yml:16:25: r3: v3_credentials 3: privacy_protocol: privacy needs an authentication_protocol",
      "error: devices/lab.yml:18:7: r3: v3_credentials 4: username is missing",
      "error: devices/lab.yml:18:7: r3: v3_credentials 4: authentication_passphrase is missing",
      "error: devices/lab.yml:19:7: r3: v3_credentials 5: expected a mapping, found a text",
    ],
  ],
  [
    "defaults that are wrong",
    {
      "defaults/device.yml": "default:\n  timeout: -1\n  device_groups: [ruter]\n",
      "defaults/object_types.yml": "dynamic:\n  interval: 3\n",
    },
    [
      'error: defaults/device.yml:2:12: default: timeout: expected a whole number from 1 to 600000, found "-1"',
      "warning: defaults/object_types.yml:2:3: dynamic: interval: unknown key is ignored",
      "error: defaults/object_types.yml:1:1: dynamic: poll_interval is missing: expected a whole number from 1 to 1728000",
      'warning: objects/if.yml:2:9: IF-MIB::ifTable: type: no object type "dynamic", so the device\'s poll_interval counts',
      'warning: objects/if.yml:26:9: IF-MIB::ifXTable: type: no object type "dynamic", so the device\'s poll_interval counts',
      'warning: objects/sys.yaml:2:9: SNMPv2-MIB::system: type: no object type "stable", so the device\'s poll_interval counts',
    ],
  ],
  [
    "files that are no definitions",
    {
      "objects/sys.yaml": "- a\n- b\n",
      "devices/broken.yml": "r2:\n  ip: 192.0.2.2\n   port: 161\n",
      "devices/two.yml": "---\na: b\n---\nc: d\n",
    },
    [
      "error: devices/broken.yml:3:8: bad indentation of a mapping entry, or a text that needs quotes",
      "error: devices/two.yml:4:1: a second document: the file must hold one",
      'error: object_groups/all.yml:7:7: system: object "SNMPv2-MIB::system" does not exist',
      "error: objects/sys.yaml:1:1: expected a mapping from ids to definitions, found a list",
    ],
  ],
  [
    "files in places that are not read",
    { "enums/if.yml": "", "enums/decimal/if.yml": "", "defaults/devices.yml": "", "autodiscover/networks/a.yml": "" },
    [
      "warning: autodiscover/networks: is not read: expected to be in sysoids/, identities/",
      "warning: defaults/devices.yml: is not read: expected device.yml or object_types.yml",
      "warning: enums/decimal: is not read: expected to be in integer/, bitmap/, oid/",
      "warning: enums/if.yml: is not read: expected to be in integer/, bitmap/, oid/",
    ],
  ],
];

for (const [what, changes, expected] of cases) {
  test(`findings: ${what}`, async (t) => {
    const tree = await DefinitionTree.make(t, changes);
    const found = tree.format(await tree.load());
    assert.deepEqual(found.toSorted(), expected.toSorted());
  });
}

test("a finding of what an alias brings in points at the place that takes it", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "devices/lab.yml": "a: &a\n  ip: 192.0.2.1\n  port: 0\n  communities: [x]\nb:\n  <<: *a\n  ip: 192.0.2.2\n",
  });
  assert.deepEqual(tree.format(await tree.load()), [
    'error: devices/lab.yml:3:9: a: port: expected a whole number from 1 to 65535, found "0"',
    'error: devices/lab.yml:5:1: b: port: expected a whole number from 1 to 65535, found "0"',
  ]);
});

test("no message has a community or a passphrase in it", async (t) => {
  const secret = "Op3nSesame";
  const wrong = [
    `  communities: ${secret}\n`,
    `  communities: {${secret}: x}\n`,
    `  communities: [[${secret}]]\n`,
    `  communities: [x, {a: ${secret}}]\n`,
    `  communities: *${secret}\n`,
    `  communities: !${secret} x\n`,
    `  communities: &${secret} [x, *${secret}2]\n`,
    `  communities: [${secret}\n`,
    `  communities: "${secret}\n`,
    `  communities: |\n    ${secret}\n    x\n`,
    `  communities: ${secret}: x\n`,
    `  communities: [x]\n  v3_credentials: ${secret}\n`,
    `  version: 3\n  v3_credentials: [${secret}]\n`,
    `  version: 3\n  v3_credentials:\n    - username: u\n      authentication_protocol: sha\n      authentication_passphrase: [${secret}]\n`,
    `  version: 3\n  v3_credentials:\n    - username: u\n      authentication_protocol: sha\n      authentication_passphrase: {a: ${secret}}\n`,
    `  version: 3\n  v3_credentials:\n    - username: u\n      authentication_protocol: sha\n      authentication_passphrase: *${secret}\n`,
    `  version: 3\n  v3_credentials:\n    - username: u\n      authentication_protocol: sha\n      authentication_passphrase: ${secret.slice(0, 7)}\n`,
  ];
  for (const text of wrong) {
    const tree = await DefinitionTree.make(t, { "devices/lab.yml": `r1:\n  ip: 192.0.2.1\n${text}` });
    const outcome = await tree.load("apply");
    assert.ok(outcome.findings.length > 0, text);
    assert.ok(!JSON.stringify(outcome.findings).includes(secret.slice(0, 7)), JSON.stringify(outcome.findings));
  }
});

test("findings name the whole id, also of two that begin alike", () => {
  const ids = ["one", "two"].map((end) => "x".repeat(200) + end);
  const text = ids.map((id) => `${id}: {ranges: [nowhere], communities: [sesame]}\n`).join("");
  const { findings } = readNetworks("networks.yml", Buffer.from(text), 100);
  assert.deepEqual(
    findings.map(({ id }) => id),
    ids,
  );
});

test("a wrong value of all networks is reported at the key of each network, wherever it stands", () => {
  const shared = "default:\n  communities: [sesame]\n  port: 0\n";
  const lab = "lab:\n  ranges: [192.0.2.1]\n";
  const said = (text: string): string[] =>
    readNetworks("networks.yml", Buffer.from(text), 100).findings.map((finding) => formatFinding(finding));
  const fault = 'lab: port: expected a whole number from 1 to 65535, found "0"';
  assert.deepEqual(said(lab + shared), [`networks.yml:1:1: ${fault}`]);
  assert.deepEqual(said(shared + lab), [`networks.yml:4:1: ${fault}`]);
});
