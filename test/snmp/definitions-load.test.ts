import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { appendFile, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import {
  compileDefinitionFile,
  DefinitionsLoader,
  definitionPathsIn,
  deviceCredentials,
  groupsOfSysObjectId,
  listDefinitionFiles,
  pollIntervalMs,
  reachedObjects,
  syntaxes,
  type Definitions,
  type Device,
  type LoaderOptions,
} from "../../src/snmp/index.ts";
import { baseFiles, DefinitionTree } from "../support/definition-tree.ts";
import { Secret } from "../../src/base/text/index.ts";

const broken = { "objects/sys.yaml": "SNMPv2-MIB::system:\n  attributes: {a: {oid: .1.3, name: a, syntax: Text}}\n" };

async function loaded(tree: DefinitionTree): Promise<Definitions> {
  const outcome = await tree.load("apply");
  assert.deepEqual(tree.format(outcome), []);
  assert.ok(outcome.definitions);
  return outcome.definitions;
}

function loaderOf(tree: DefinitionTree, options: Partial<LoaderOptions> = {}) {
  const metrics = createMetrics();
  const paths = definitionPathsIn(tree.directory);
  return { metrics, loader: new DefinitionsLoader({ paths, metrics, clock: systemClock, ...options }) };
}

test("objects are resolved: index of what they augment, OIDs, syntaxes, the instance of scalars", async (t) => {
  const { objects } = await loaded(await DefinitionTree.make(t));
  const table = objects.get("IF-MIB::ifXTable");
  assert.equal(table?.augments, "IF-MIB::ifTable");
  assert.deepEqual(table.index, [
    {
      type: "Integer",
      oid: [1, 3, 6, 1, 2, 1, 2, 2, 1, 1],
      oidText: ".1.3.6.1.2.1.2.2.1.1",
      field: "netif",
      syntax: syntaxes.get("InterfaceIndex"),
    },
  ]);
  assert.equal(table.mib, "IF-MIB");
  assert.equal(table.object, "ifXTable");
  assert.equal(table.discoveryAttribute, undefined);
  assert.deepEqual(table.attributes.get("ifHCInOctets"), {
    name: "ifHCInOctets",
    oid: [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6],
    oidText: ".1.3.6.1.2.1.31.1.1.1.6",
    field: "netif.bytes.in",
    syntax: syntaxes.get("Counter64"),
    tag: false,
    metric: "counter",
    rediscover: undefined,
    noValue: undefined,
    range: undefined,
    severity: undefined,
    scale: undefined,
    bounds: [0, Number.POSITIVE_INFINITY],
    noValueWhen: undefined,
    overrides: { object: "IF-MIB::ifTable", attribute: "ifInOctets" },
  });
  assert.deepEqual(objects.get("SNMPv2-MIB::system")?.index, []);
});

test("a device has the built-in defaults, then the files', then its own; presence counts, not truth", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "defaults/device.yml":
      "default:\n  retries: 5\n  timeout: 1000\n  communities: [all]\n  poll_intervals: {stable: 7}\n",
    "devices/lab.yml": `r1:
  ip: 192.0.2.1
  retries: 0
r2:
  ip: 2001:DB8::2
  port: 1161
  transport: tcp
  context: vrf-1
  object_contexts: {IF-MIB::ifTable: [10, 20]}
  version: 3
  exponential_timeout: TRUE
  poll_interval: 30
  max_oids: 8
  max_repetitions: 20
  max_concurrent_polls: 1
  device_groups: [router, generic, router]
  v3_credentials:
    - username: ops
      authentication_protocol: sha256
      authentication_passphrase: "0123456789"
      privacy_protocol: aes
      privacy_passphrase: abcdefghij
    - username: guest
      privacy_passphrase: not-needed
`,
  });
  const { devices } = await loaded(tree);
  const common = { timeoutMs: 1000, pollIntervalsMs: new Map([["stable", 7000]]), communities: [new Secret("all")] };
  const expected: Device[] = [
    {
      ...common,
      id: "192.0.2.1:161",
      name: "r1",
      ip: "192.0.2.1",
      port: 161,
      transport: "udp",
      context: "",
      objectContexts: new Map(),
      version: "2c",
      v3Credentials: [],
      deviceGroups: ["auto"],
      retries: 0,
      exponentialTimeout: false,
      pollIntervalMs: 60_000,
      rediscoverIntervalMs: 86_400_000,
      maxOids: 64,
      maxRepetitions: 0,
      maxRows: 100_000,
      maxConcurrentPolls: 4,
    },
    {
      ...common,
      id: "[2001:db8::2]:1161",
      name: "r2",
      ip: "2001:db8::2",
      port: 1161,
      transport: "tcp",
      context: "vrf-1",
      objectContexts: new Map([["IF-MIB::ifTable", ["10", "20"]]]),
      version: "3",
      v3Credentials: [
        {
          username: "ops",
          authenticationProtocol: "sha256",
          authenticationPassphrase: new Secret("0123456789"),
          privacyProtocol: "aes",
          privacyPassphrase: new Secret("abcdefghij"),
        },
        {
          username: "guest",
          authenticationProtocol: "noauth",
          authenticationPassphrase: undefined,
          privacyProtocol: "nopriv",
          privacyPassphrase: undefined,
        },
      ],
      deviceGroups: ["generic", "router"],
      retries: 5,
      exponentialTimeout: true,
      pollIntervalMs: 30_000,
      rediscoverIntervalMs: 86_400_000,
      maxOids: 8,
      maxRepetitions: 20,
      maxRows: 100_000,
      maxConcurrentPolls: 1,
    },
  ];
  assert.deepEqual([...devices.values()], expected);
  const [first, second] = [...devices.values()] as [Device, Device];
  assert.deepEqual(deviceCredentials(first), [{ version: "2c", community: "all" }]);
  assert.deepEqual(deviceCredentials(second), [
    {
      version: "3",
      username: "ops",
      authenticationProtocol: "sha256",
      authenticationPassphrase: "0123456789",
      privacyProtocol: "aes",
      privacyPassphrase: "abcdefghij",
      contextName: "vrf-1",
    },
    {
      version: "3",
      username: "guest",
      authenticationProtocol: "noauth",
      privacyProtocol: "nopriv",
      contextName: "vrf-1",
    },
  ]);
});

test("a community keeps its spelling and never prints", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "devices/lab.yml": "r1:\n  ip: 192.0.2.1\n  communities:\n    - 0123456789\n    - 1e3\n    - yes\n",
  });
  const device = (await loaded(tree)).devices.get("192.0.2.1:161");
  assert.deepEqual(
    device?.communities.map((secret) => secret.reveal()),
    ["0123456789", "1e3", "yes"],
  );
  for (const print of [inspect(device, { depth: 9 }), JSON.stringify(device), String(device?.communities)]) {
    assert.match(print, /\(secret\)/);
    assert.doesNotMatch(print, /0123456789|1e3/);
  }
});

test("a later directory of defaults replaces what it sets", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "defaults/device.yml": "default:\n  timeout: 1000\n  retries: 1\n",
    "mine/device.yml": "timeout: 500\n",
    "mine/object_types.yaml": "stable:\n  poll_interval: 5\n",
  });
  const paths = definitionPathsIn(tree.directory);
  const defaults = [...paths.defaults, join(tree.directory, "mine")];
  const { loader } = loaderOf(tree, { paths: { ...paths, defaults } });
  const { definitions } = await loader.load("apply");
  const device = definitions?.devices.get("192.0.2.1:161");
  assert.equal(device?.timeoutMs, 500);
  assert.equal(device?.retries, 1);
  assert.deepEqual(Object.fromEntries(definitions?.objectTypes ?? []), { dynamic: 60_000, stable: 5000 });
});

test("several directories of one kind are one set, each file once", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "mine/sys.yaml": baseFiles["objects/sys.yaml"],
    "objects/sys.yaml": undefined,
  });
  const paths = definitionPathsIn(tree.directory);
  const objects = [...paths.objects, join(tree.directory, "mine"), join(tree.directory, "objects/../mine")];
  const outcome = await loaderOf(tree, { paths: { ...paths, objects } }).loader.load("apply");
  assert.deepEqual(tree.format(outcome), []);
  assert.equal(outcome.definitions?.objects.size, 3);
});

test("labels of OIDs may be in several files; one OID has one label", async (t) => {
  const notifications = ".1.3.6.1.6.3.1.1.4.1:\n";
  const labels = {
    "enums/oid/a.yml": `${notifications}  .1.3.1: one\n`,
    "enums/oid/b.yml": `${notifications}  .1.3.2: two\n`,
  };
  const tree = await DefinitionTree.make(t, labels);
  const { definitions } = await tree.load();
  assert.deepEqual(
    [...(definitions?.enums.oid.get(".1.3.6.1.6.3.1.1.4.1") ?? [])],
    [
      [".1.3.1", "one"],
      [".1.3.2", "two"],
    ],
  );
  const other = await DefinitionTree.make(t, {
    ...baseFiles,
    ...labels,
    "enums/oid/c.yml": `${notifications}  .1.3.1: uno\n`,
  });
  const [finding] = (await other.load()).findings;
  assert.match(finding?.message ?? "", /^\.1\.3\.1 has the label "one" already, in .+a\.yml$/);
  assert.match(finding?.file ?? "", /c\.yml$/);
});

test("dotfiles, back-ups, examples and loops of links are not read", async (t) => {
  const text = "r9:\n  ip: 192.0.2.9\n  communities: [x]\n";
  const tree = await DefinitionTree.make(t, {
    "devices/.hidden.yml": text,
    "devices/.git/a.yml": text,
    "devices/a.yml~": text,
    "devices/a.yml.EXAMPLE": text,
    "devices/notes.txt": text,
    "devices/deep/er/b.yaml": text,
    "elsewhere/c.yml": "r10:\n  ip: 192.0.2.10\n  communities: [x]\n",
  });
  await symlink("../elsewhere", join(tree.directory, "devices/linked"));
  await symlink("../../devices", join(tree.directory, "devices/deep/loop"));
  const { devices } = await loaded(tree);
  assert.deepEqual([...devices.keys()].sort(), ["192.0.2.10:161", "192.0.2.1:161", "192.0.2.9:161"]);
});

test("at a start what is wrong is left out and the rest runs; applying is all or nothing", async (t) => {
  const tree = await DefinitionTree.make(t, {
    ...broken,
    "devices/bad.yml":
      "r2: {ip: 192.0.2.2, communities: [x], port: x}\nr3: {ip: 192.0.2.3, communities: [x], device_groups: [router, nobody]}\n",
    "devices/worse.yml": "r4:\n ip: [\n",
  });
  const { loader, metrics } = loaderOf(tree);
  const started = await loader.load("start");
  assert.equal(started.findings.filter((finding) => finding.severity === "error").length, 4);
  assert.deepEqual([...(started.definitions?.devices.keys() ?? [])], ["192.0.2.3:161", "192.0.2.1:161"]);
  assert.deepEqual(started.definitions?.devices.get("192.0.2.3:161")?.deviceGroups, ["router"]);
  assert.deepEqual([...(started.definitions?.objects.keys() ?? [])], ["IF-MIB::ifTable", "IF-MIB::ifXTable"]);
  assert.deepEqual(started.definitions?.objectGroups.get("system"), []);

  const applied = await loader.load("apply");
  assert.equal(applied.definitions, undefined);
  assert.deepEqual(applied.findings, started.findings);
  assert.equal(await metrics.value("netgloss_snmp_definition_loads_total", { result: "loaded" }), 1);
  assert.equal(await metrics.value("netgloss_snmp_definition_loads_total", { result: "rejected" }), 1);
  assert.equal(await metrics.value("netgloss_snmp_definition_findings", { severity: "error" }), 4);
  assert.equal(await metrics.value("netgloss_snmp_definitions", { kind: "device" }), 2);
  assert.equal(await metrics.value("netgloss_snmp_definition_files"), started.files);
});

test("the first of two devices, objects or groups with one id counts at a start", async (t) => {
  const tree = await DefinitionTree.make(t, { "devices/zz.yml": "r1:\n  ip: 192.0.2.77\n  communities: [x]\n" });
  const { definitions } = await tree.load("start");
  assert.deepEqual([...(definitions?.devices.keys() ?? [])], ["192.0.2.1:161"]);
});

test("unchanged files are not parsed again, and an unchanged set is the same object", async (t) => {
  const tree = await DefinitionTree.make(t);
  const { loader, metrics } = loaderOf(tree);
  const first = await loader.load("start");
  assert.equal(first.parsedFiles, first.files);
  const second = await loader.load("apply");
  assert.equal(second.parsedFiles, 0);
  assert.equal(second.definitions, first.definitions);

  await appendFile(join(tree.directory, "objects/sys.yaml"), "# a comment\n");
  const third = await loader.load("apply");
  assert.equal(third.parsedFiles, 1);
  assert.notEqual(third.definitions, first.definitions);
  assert.equal(third.definitions?.revision, first.definitions?.revision);
  assert.equal(await metrics.value("netgloss_snmp_definition_files_parsed_total"), first.files + 1);

  await tree.write(broken);
  assert.equal((await loader.load("apply")).definitions, undefined);
  await tree.write({ "objects/sys.yaml": baseFiles["objects/sys.yaml"] });
  assert.equal((await loader.load("apply")).definitions?.revision, first.definitions?.revision);
});

test("the revision is of the meaning: comments, order, spelling and files do not count", async (t) => {
  const ifFile = baseFiles["objects/if.yml"] as string;
  const [table, augmenting] = ifFile.split("\n\n") as [string, string];
  const base = await loaded(await DefinitionTree.make(t));
  const same = await loaded(
    await DefinitionTree.make(t, {
      "objects/if.yml": undefined,
      "objects/a/x.yml": `# moved\n${augmenting.replace("  type: dynamic\n", "").replace("  attributes", "  type: 'dynamic'\n  attributes")}`,
      "objects/b/table.yml": table,
      "device_groups/all.yml":
        "router:\n  object_groups: [netif, system]\ngeneric:\n  object_groups: [system, system]\n",
      "autodiscover/sysoids/all.yml": "1.3.6.1.4.1.9.1:\n  - router\n",
      "devices/lab.yml": "r1: {device_groups: [router], communities: [sesame], ip: 192.0.2.1, port: 161, retries: 2}\n",
    }),
  );
  assert.equal(same.revision, base.revision);
  const changes = [
    { "objects/if.yml": ifFile.replace("netif.bytes.in", "netif.octets.in") },
    { "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.8:\n  1: 'up'\n  2: 'off'\n" },
    { "devices/lab.yml": "r1:\n  ip: 192.0.2.1\n  communities: [opensesame]\n  device_groups: [router]\n" },
    { "defaults/device.yml": "default:\n  retries: 3\n" },
    { "defaults/object_types.yml": "dynamic:\n  poll_interval: 61\nstable:\n  poll_interval: 3600\n" },
    { "autodiscover/sysoids/all.yml": ".1.3.6.1.4.1.9.1: generic\n" },
  ];
  const revisions = new Set([base.revision]);
  for (const change of changes) revisions.add((await loaded(await DefinitionTree.make(t, change))).revision);
  assert.equal(revisions.size, changes.length + 1);
});

test("a directory that is not there and a file that cannot be read are errors", async (t) => {
  const tree = await DefinitionTree.make(t);
  const files = (await tree.load()).files;
  for (let n = 1; n <= files; n++) {
    let reads = 0;
    let failed = "";
    const read = async (path: string): Promise<Uint8Array> => {
      if (++reads !== n) return readFile(path);
      failed = path;
      throw Object.assign(new Error("no"), { code: "EIO" });
    };
    const { loader } = loaderOf(tree, { read });
    const outcome = await loader.load("apply");
    assert.equal(outcome.definitions, undefined);
    assert.equal(outcome.files, files - 1);
    assert.ok(
      outcome.findings.some((finding) => finding.file === failed && /cannot be read \(EIO\)/.test(finding.message)),
    );
    reads = files + 1;
    assert.ok((await loader.load("apply")).definitions, "once the file can be read again");
  }
  const paths = { ...definitionPathsIn(tree.directory), devices: [join(tree.directory, "nowhere")] };
  const outcome = await loaderOf(tree, { paths }).loader.load("start");
  assert.deepEqual(tree.format(outcome), ["error: nowhere: the directory cannot be read (ENOENT)"]);
  assert.equal(outcome.definitions?.devices.size, 0);
});

test("pipes and devices are not read, and links to files are", async (t) => {
  const tree = await DefinitionTree.make(t, { "elsewhere.yml": "r9:\n  ip: 192.0.2.9\n  communities: [x]\n" });
  await symlink("../elsewhere.yml", join(tree.directory, "devices/linked.yml"));
  assert.deepEqual([...(await loaded(tree)).devices.keys()].sort(), ["192.0.2.1:161", "192.0.2.9:161"]);
  await symlink("/dev/null", join(tree.directory, "devices/device.yml"));
  await symlink("nowhere.yml", join(tree.directory, "devices/gone.yml"));
  execFileSync("mkfifo", [join(tree.directory, "devices/pipe.yml")]);
  assert.deepEqual(tree.format(await tree.load("apply")), [
    "error: devices/device.yml: is no file: a pipe or a device may never end",
    "error: devices/gone.yml: the file cannot be read (ENOENT)",
    "error: devices/pipe.yml: is no file: a pipe or a device may never end",
  ]);
});

test("bytes that are no UTF-8 are an error of that file", async (t) => {
  const tree = await DefinitionTree.make(t);
  await appendFile(join(tree.directory, "devices/lab.yml"), Buffer.from([0x23, 0xff, 0x0a]));
  assert.deepEqual(tree.format(await tree.load()), ["error: devices/lab.yml:6:2: the file is not UTF-8 here"]);
});

test("loads that overlap run one after another", async (t) => {
  const tree = await DefinitionTree.make(t);
  const { loader } = loaderOf(tree);
  const outcomes = await Promise.all([loader.load("start"), loader.load("apply"), loader.load("start")]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.parsedFiles),
    [outcomes[0]?.files, 0, 0],
  );
  assert.equal(new Set(outcomes.map((outcome) => outcome.definitions)).size, 1);
});

test("names like those of JavaScript's own are names like any other", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "device_groups/js.yml": "__proto__:\n  object_groups: [constructor]\n",
    "object_groups/js.yml": "constructor:\n  objects: [SNMPv2-MIB::system]\n",
    "devices/lab.yml": "toString:\n  ip: 192.0.2.1\n  communities: [x]\n  device_groups: [__proto__]\n",
  });
  const definitions = await loaded(tree);
  assert.deepEqual([...reachedObjects(definitions, ["__proto__"]).keys()], ["SNMPv2-MIB::system"]);
});

test("a sysObjectID leads to the groups of its longest known start, else to generic", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "autodiscover/sysoids/all.yml":
      ".1.3.6.1.4.1.9: generic\n.1.3.6.1.4.1.9.1.617: [router, generic]\n.1.3.6.1.4.1.9.1: router\n",
  });
  const definitions = await loaded(tree);
  const groups = (text: string): readonly string[] => groupsOfSysObjectId(definitions, text.split(".").map(Number));
  assert.deepEqual(groups("1.3.6.1.4.1.9.1.617"), ["generic", "router"]);
  assert.deepEqual(groups("1.3.6.1.4.1.9.1.617.3"), ["generic", "router"]);
  assert.deepEqual(groups("1.3.6.1.4.1.9.1.6170"), ["router"]);
  assert.deepEqual(groups("1.3.6.1.4.1.9.12"), ["generic"]);
  assert.deepEqual(groups("1.3.6.1.4.1.99.1"), ["generic"]);
  assert.deepEqual(groups("0.0"), ["generic"]);
});

test("an interval is the device's for the type, else the type's, else the device's", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "devices/lab.yml":
      "r1:\n  ip: 192.0.2.1\n  communities: [x]\n  poll_interval: 90\n  poll_intervals: {dynamic: 10}\n",
  });
  const definitions = await loaded(tree);
  const device = definitions.devices.get("192.0.2.1:161") as Device;
  const intervals = ["dynamic", "stable", "unknown", undefined].map((type) =>
    pollIntervalMs(definitions, device, type),
  );
  assert.deepEqual(intervals, [10_000, 3_600_000, 90_000, 90_000]);
});

test("rows of a table whose index is not known are told apart by their suffix", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "objects/if.yml": (baseFiles["objects/if.yml"] as string).replace(
      "augments: IF-MIB::ifTable",
      "augments: X-MIB::gone",
    ),
  });
  const { definitions } = await tree.load("apply");
  assert.equal(definitions?.warnings.length, 1);
  const [part] = definitions?.objects.get("IF-MIB::ifXTable")?.index ?? [];
  assert.equal(part?.type, "ImplicitObjectIdentifier");
  assert.equal(part?.field, "snmp.object.instance");
});

test("compiled files are not read as YAML again; one that is different, or has a finding, is", async (t) => {
  const tree = await DefinitionTree.make(t, {
    "objects/odd.yml":
      "ODD-MIB::odd:\n  colour: red\n  attributes:\n    odd: {oid: .1.3.6.1.4.1.1.1, name: odd.value, syntax: Gauge32}\n",
    "objects/wide.yml":
      "WIDE-MIB::wide:\n  attributes:\n    wide: {oid: .1.3.6.1.4.1.1.2, name: wide.value, syntax: Gauge32, range: [-Infinity, 5]}\n",
  });
  const { files } = await listDefinitionFiles(definitionPathsIn(tree.directory));
  const compile = async (): Promise<readonly (string | undefined)[]> =>
    Promise.all(
      files.map(async ({ kind, path }) => {
        const bytes = await readFile(path);
        return compileDefinitionFile(kind, bytes, hash("sha256", bytes, "hex"));
      }),
    );
  const lines = await compile();
  const left = files.filter((_, i) => lines[i] === undefined).map(({ path }) => path.slice(tree.directory.length + 1));
  // Devices have secrets; what has a finding is needed with its positions; JSON has no infinite number.
  assert.deepEqual(left, ["objects/odd.yml", "objects/wide.yml", "devices/lab.yml"]);
  const compiled = join(tree.directory, "definitions.compiled");
  // The last line is broken off, as of a file that is still written.
  await writeFile(compiled, lines.join("") + (lines[0] ?? "").slice(0, -5));
  const load = async (): ReturnType<DefinitionsLoader["load"]> => loaderOf(tree, { compiled }).loader.load("start");
  const plain = await tree.load("start");
  const outcome = await load();
  assert.equal(outcome.parsedFiles, left.length);
  assert.deepEqual(outcome.definitions, plain.definitions);
  assert.deepEqual(tree.format(outcome), tree.format(plain));

  // A disk may give zeros back after the power failed.
  const damaged = lines.join("").replaceAll(/"ifDescr"/g, (text) => "\0".repeat(text.length));
  await writeFile(compiled, damaged);
  const repaired = await load();
  assert.equal(repaired.parsedFiles, left.length + 1);
  assert.deepEqual(repaired.definitions, plain.definitions);

  await appendFile(join(tree.directory, "objects/if.yml"), "      colour: red\n");
  const changed = await load();
  assert.equal(changed.parsedFiles, left.length + 1);
  assert.deepEqual(tree.format(changed), tree.format(await tree.load("start")));
  assert.equal(tree.format(changed).length, 2);
});
