// Names of interfaces, AS numbers, VLANs, ports and MAC addresses: their keys, their file and their API.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { compareKeys, KeyError } from "../../src/base/ip/index.ts";
import { checkMetadataFile, parseNameKey, type CollectorUdmStore } from "../../src/metadata/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { postJson, startApi, type JsonAnswer } from "./api-fixture.ts";

interface Fixture {
  readonly call: (method: string, body: unknown) => Promise<JsonAnswer>;
  readonly store: CollectorUdmStore;
  readonly folder: string;
  readonly path: string;
}

async function setUp(t: Owner, text?: string): Promise<Fixture> {
  const folder = tempDirectory(t);
  const path = join(folder, "names.yml");
  if (text !== undefined) await writeFile(path, text);
  const { store } = storeOn(nodeFileIo, { path, keys: "names", stateDirectory: folder });
  cleanUp(t, () => store.stop());
  await store.start();
  const api = await startApi(t, { names: store });
  const call: Fixture["call"] = (method, body) => {
    const service =
      method.endsWith("Udm") || /^(List|Count|Batch(Create|Update))Udm/.test(method)
        ? "NameService"
        : "NameToolsService";
    return postJson(`${api.url}/api/v1/enrich/ipaddr/names.v1.${service}/${method}`, body);
  };
  return { call, store, folder, path };
}

const canonical: readonly (readonly [given: string, key: string])[] = [
  ["interface:192.0.2.1/17", "interface:192.0.2.1/17"],
  ["interface:::ffff:192.0.2.1/Gi0/1", "interface:192.0.2.1/Gi0/1"],
  ["interface:2001:DB8:0::1/Ethernet 1/1", "interface:2001:db8::1/Ethernet 1/1"],
  ['interface:192.0.2.1/a"b\\c%25ä', "interface:192.0.2.1/a%22b%5Cc%25%C3%A4"],
  ["interface:192.0.2.1/%41%20", "interface:192.0.2.1/A%20"],
  ["interface:192.0.2.1/%31%37", "interface:192.0.2.1/17"],
  ["interface:2001:db8::1/%31", "interface:2001:db8::1/1"],
  ["as:4294967295", "as:4294967295"],
  ["vlan:*/100", "vlan:*/100"],
  ["vlan:2001:db8::1/4094", "vlan:2001:db8::1/4094"],
  ["port:sctp/0", "port:sctp/0"],
  ["mac:00-00-5E-00-53-01", "mac:00:00:5e:00:53:01"],
  ["mac:00:00:5e/24", "mac:00:00:5e"],
  ["mac:00:55:DA:10:00:00/28", "mac:00:55:da:10/28"],
];

const wrong: readonly (readonly [key: string, expected: RegExp])[] = [
  ["", /is no key of a name: expected interface:<exporter>.*as:<number>.*vlan:.*port:.*mac:/],
  ["10.0.0.1", /is no key of a name: expected interface:<exporter>/],
  ["Interface:10.0.0.1/1", /is no key of a name/],
  ["interface:10.0.0.1", /nothing behind the exporter: expected interface:<exporter>\/<index or name>/],
  ["interface:10.0.0.1/", /nothing behind the exporter/],
  ["interface:*/1", /no exporter by its IP address/],
  ["interface:router/Ethernet 1", /no exporter by its IP address/],
  ["interface:10.0.0.0/8/1 ", /blank at an end of the name/],
  ["interface:10.0.0.1/%zz", /% without two hexadecimal digits.*write %25/],
  ["interface:10.0.0.1/%ff", /no text in UTF-8/],
  ["interface:10.0.0.1/\ud800", /no text in UTF-8/],
  [`interface:10.0.0.1/${"x".repeat(300)}`, /has 319 characters, more than 255/],
  [`interface:10.0.0.1/${"ä".repeat(100)}`, /characters, more than 255/],
  ["interface:10.0.0.1/017", /ifIndex that is none: expected 0 to 4294967295, without leading zeros/],
  ["interface:10.0.0.1/4294967296", /ifIndex that is none/],
  ["as:01", /no AS number: expected as:<number>, from 0 to 4294967295/],
  ["as:4294967296", /no AS number/],
  ["vlan:*/0", /no VLAN: expected vlan:<exporter or \*>\/<id>, the id from 1 to 4094/],
  ["vlan:*/4095", /no VLAN/],
  ["vlan:5", /nothing behind the exporter: expected vlan:/],
  ["port:icmp/1", /no port: expected port:<tcp, udp, sctp or dccp>\/<number>, the number from 0 to 65535/],
  ["port:tcp/65536", /no port/],
  ["mac:0:1", /no MAC address: expected mac:/],
  ["mac:00:00-5e", /no MAC address/],
  ["mac:00:00:5e:00:53:01:02", /no MAC address/],
  ["mac:00:55:da:11/28", /bits behind the first 28: they must be 0/],
  ["mac:00/0", /no MAC address/],
];

suite("keys of names", { concurrency: true }, () => {
  test("have one canonical text", () => {
    for (const [given, key] of canonical) {
      assert.equal(parseNameKey(given).text, key, given);
      assert.deepEqual(parseNameKey(given), parseNameKey(key), given);
    }
  });

  test("that are none are refused with what is expected", () => {
    for (const [key, expected] of wrong) assert.throws(() => parseNameKey(key), expected, key);
  });

  test("keep what they say, whatever the text", () => {
    const kind = fc.constantFrom("interface", "as", "vlan", "port", "mac");
    const exporter = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("*"));
    const rest = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.nat(70_000).map(String),
      fc.stringMatching(/^([\da-f]{2}:){0,5}[\da-f]{2}$/),
    );
    const key = fc.oneof(
      fc.string(),
      fc
        .tuple(kind, exporter, rest)
        .map(([of, at, name]) =>
          of === "interface" || of === "vlan" ? `${of}:${at}/${name}` : `${of}:${of === "port" ? "tcp/" : ""}${name}`,
        ),
    );
    const read = (text: string): ReturnType<typeof parseNameKey> | undefined => {
      try {
        return parseNameKey(text);
      } catch (error) {
        assert.ok(error instanceof KeyError, String(error));
        return undefined;
      }
    };
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [one, other] = [read(a), read(b)];
        if (one === undefined) return;
        assert.deepEqual(read(one.text), one);
        assert.match(one.text, /^[ !#-[\]-~]+$/);
        assert.ok(one.first <= one.last);
        if (other !== undefined) assert.equal(one.text === other.text, compareKeys(one, other) === 0);
      }),
      runs(300),
    );
  });
});

suite("names by the API", { concurrency: true }, () => {
  test("are written to their file, and read from it by the next start", async (t) => {
    const { call, store, path } = await setUp(t);
    const udms = canonical
      .slice(0, 5)
      .map(([key], i) => ({ key, name: `name ${i}`, tags: ["a"], metadata: { ".site": "ams" } }));
    const created = await call("BatchCreateUdms", {
      requests: [...udms, { key: "as:64496", name: "Example" }].map((udm) => ({ udm })),
    });
    assert.equal(created.status, 200);
    assert.match(await readFile(path, "utf8"), /^"interface:192\.0\.2\.1\/17":\n {2}name: name 0\n/m);
    const listed = await call("ListUdms", {});
    await store.stop();
    const again = storeOn(nodeFileIo, { path, keys: "names" }).store;
    cleanUp(t, () => again.stop());
    await again.start();
    assert.deepEqual(
      [...again.current().entries()].map(({ key }) => key.text),
      (listed.body["udms"] as { key: string }[]).map(({ key }) => key),
    );
    assert.equal(again.current().size, 6);
  });

  test("a key with the digest of another changes nothing", async (t) => {
    const { store, path } = await setUp(t);
    const key = parseNameKey("interface:192.0.2.1/Gi0/1");
    const values = { name: "first", tags: [], vlan: 0n, internal: false, metadata: new Map<string, string>() };
    await store.commit([{ op: "create", key, values }]);
    const file = await readFile(path, "utf8");
    const other = { ...key, text: "interface:192.0.2.1/Gi0/2" };
    for (const op of ["create", "update", "delete"] as const) {
      const write = op === "delete" ? { op, key: other } : { op, key: other, values: { ...values, name: "second" } };
      await assert.rejects(store.commit([write]), /Gi0\/2" has the digest of "interface:192\.0\.2\.1\/Gi0\/1"/);
    }
    assert.equal(await readFile(path, "utf8"), file);
    assert.equal(store.current().get(key)?.name, "first");
  });

  test("a MAC address is found by those that cover it, first bytes by what is within", async (t) => {
    const { call } = await setUp(
      t,
      'mac:00:00:5e: {name: IANA}\n"mac:00:00:5e:00:53:01": {name: host}\nmac:00:55:da:10/28: {name: other}\nas:1: {name: one}\n',
    );
    const keys = async (key: string, exact = false): Promise<unknown> =>
      (await call("ListUdmKeys", { key, exact })).body["keys"];
    assert.deepEqual(await keys("mac:00-00-5E-00-53-01"), ["mac:00:00:5e", "mac:00:00:5e:00:53:01"]);
    assert.deepEqual(await keys("mac:00:00:5e"), ["mac:00:00:5e", "mac:00:00:5e:00:53:01"]);
    assert.deepEqual(await keys("mac:00:00:5e", true), ["mac:00:00:5e"]);
    assert.deepEqual(await keys("mac:00:55:da:1f:00:00"), ["mac:00:55:da:10/28"]);
    assert.deepEqual(await keys("as:1"), ["as:1"]);
    assert.equal(await keys("as:2"), undefined);
  });

  test("keys that are none are refused in every method, with the field and what is expected", async (t) => {
    const { call, store } = await setUp(t);
    const bodies: readonly (readonly [method: string, field: string, body: (key: string) => unknown])[] = [
      ["CreateUdm", "udm.key", (key) => ({ udm: { key } })],
      ["UpdateUdm", "udm.key", (key) => ({ udm: { key } })],
      ["BatchCreateUdms", "requests[0].udm.key", (key) => ({ requests: [{ udm: { key } }] })],
      ["DeleteUdm", "key", (key) => ({ key })],
      ["ListUdms", "key", (key) => ({ key: key || "-" })],
      ["BatchDeleteUdms", "keys[0]", (key) => ({ keys: [key] })],
      ["BatchUpsertUdms", "requests[0].udm.key", (key) => ({ requests: [{ udm: { key } }] })],
      ["ReplaceUdms", "udms[0].key", (key) => ({ scope: { all: true }, udms: [{ key }] })],
      ["ReplaceUdms", "scope.within", (key) => ({ scope: { within: key || "-" } })],
      ["ListChanges", "key", (key) => ({ key: key || "-" })],
    ];
    for (const [i, [key, expected]] of wrong.filter(([one]) => !one.includes("\ud800")).entries()) {
      // Each with one method, and the first with all.
      for (const [method, field, body] of i < 2 ? bodies : [bodies[i % bodies.length] as (typeof bodies)[number]]) {
        const { status, body: refused } = await call(method, body(key));
        assert.equal(status, 400, `${method} ${key}`);
        const [violation] = violationsOf(refused);
        assert.equal(violation?.field, field, `${method} ${key}`);
        assert.match(violation?.description ?? "", key === "" ? /is no key of a name|names no exporter/ : expected);
      }
    }
    assert.equal(store.current().size, 0);
  });

  test("are imported, exported, found, counted and undone", async (t) => {
    const { call } = await setUp(t);
    const text = "key,name,tags,metadata:.role\nas:64496,Example,peer,transit\nport:tcp/8443,portal,,\n";
    const imported = await call("ImportUdms", { format: "csv", text });
    assert.deepEqual([imported.status, imported.body["created"]], [200, 2], JSON.stringify(imported.body));
    assert.deepEqual((await call("CountUdms", {})).body, { count: 2 });
    const { body: exported } = await call("ExportUdms", { format: "csv" });
    const found = await call("SearchUdms", { filter: "metadata..role = transit" });
    assert.deepEqual(
      (found.body["udms"] as { key: string }[]).map(({ key }) => key),
      ["as:64496"],
      JSON.stringify(found.body),
    );
    const refused = await call("ImportUdms", { format: "csv", text: "key,name\n10.0.0.1,x\n" });
    assert.match(JSON.stringify(refused.body), /is no key of a name/);
    const { body: undone } = await call("UndoChange", { id: imported.body["change"] });
    assert.equal((undone["changes"] as unknown[]).length, 2, JSON.stringify(undone));
    assert.deepEqual((await call("CountUdms", {})).body, {});
    assert.equal((await call("ImportUdms", { format: "csv", text: exported["text"] })).body["created"], 2);
    const { body: history } = await call("ListChanges", { key: "as:64496" });
    assert.equal((history["changes"] as unknown[]).length, 3);
  });

  test("are found by their keys: first bytes of MAC addresses have all that lie within", async (t) => {
    const { call } = await setUp(t);
    const keys = [
      "interface:192.0.2.1/17",
      "interface:192.0.2.1/Gi0/1",
      "as:64496",
      "vlan:*/7",
      "port:udp/53",
      "mac:00:00:5e",
      "mac:00:00:5e:00:53:01",
      "mac:00:55:da:10/28",
      "mac:00:55:da:1f:00:01",
    ];
    const text = `key,name\n${keys.map((key) => `${key},x\n`).join("")}`;
    assert.equal((await call("ImportUdms", { format: "csv", text })).body["created"], keys.length);
    const found = async (filter: string): Promise<unknown> => {
      const { status, body } = await call("SearchUdms", { filter });
      assert.equal(status, 200, JSON.stringify(body));
      return ((body["udms"] ?? []) as { key: string }[]).map(({ key }) => key);
    };
    for (const [filter, expected] of [
      ["key in mac:00:00:5e", ["mac:00:00:5e", "mac:00:00:5e:00:53:01"]],
      ["key = mac:00-00-5E-00-53-01", ["mac:00:00:5e:00:53:01"]],
      ["key in [mac:00:55:da:10/28, as:64496]", ["as:64496", "mac:00:55:da:10/28", "mac:00:55:da:1f:00:01"]],
      ["key = as:64496 or key = port:udp/53", ["as:64496", "port:udp/53"]],
      ["key in interface:192.0.2.1/Gi0/1", ["interface:192.0.2.1/Gi0/1"]],
      ["not key in mac:00 and not key = vlan:*/7", keys.slice(0, 5).filter((key) => key !== "vlan:*/7")],
      ["key = as:64497", []],
    ] as const) {
      assert.deepEqual([...((await found(filter)) as string[])].toSorted(), [...expected].toSorted(), filter);
    }
    for (const [filter, expected] of [
      ["key in 10.0.0.0/8", /is no key of a name: expected interface:/],
      ["key = mac:00:00:5e", /mac:00:00:5e is no single address: use in/],
      ["key in as:x", /is no AS number/],
    ] as const) {
      const { status, body } = await call("SearchUdms", { filter });
      assert.equal(status, 400, filter);
      assert.match(violationsOf(body)[0]?.description ?? "", expected);
    }
    const { body: exported } = await call("ExportUdms", { format: "csv", filter: "key in mac:00:55:da:10/28" });
    assert.match(
      String(exported["text"]),
      /^key,name,tags,vlan,internal\r\nmac:00:55:da:10\/28,x,,,\r\nmac:00:55:da:1f:00:01,/,
    );
  });

  test("keys of addresses and of names do not mix", async (t) => {
    const folder = tempDirectory(t);
    const { store } = storeOn(nodeFileIo, { path: join(folder, "ipaddrs.yml"), stateDirectory: folder });
    cleanUp(t, () => store.stop());
    await store.start();
    const api = await startApi(t, { udm: store, tools: store });
    const { status, body } = await postJson(`${api.url}/udm.v1.UdmService/CreateUdm`, { udm: { key: "as:64496" } });
    assert.equal(status, 400);
    assert.match(violationsOf(body)[0]?.description ?? "", /is not an IP address, a CIDR or a range/);
    // Without a store of names there is no such service.
    assert.equal((await postJson(`${api.url}/names.v1.NameService/CountUdms`, {})).status, 404);
  });
});

test("a fault of the file of names has its place, and changes nothing", async (t) => {
  const { store, path, folder, call } = await setUp(t, "as:1: {name: one}\nport:tcp/1: {name: x}\n");
  assert.equal(store.current().size, 2);
  const file = await readFile(path);
  assert.deepEqual(checkMetadataFile(file, undefined, "names").findings, []);
  // What a person wrote is kept aside by the first write.
  await call("CreateUdm", { udm: { key: "as:2" } });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith(".orig")),
    ["names.yml.orig"],
  );
  const reader = storeOn(nodeFileIo, { path, keys: "names", owned: false }).store;
  cleanUp(t, () => reader.stop());
  await reader.start();
  for (const [text, place] of [
    ["as:1: {name: one}\nas:x: {}\n", /names\.yml:2:1: key "as:x" is no AS number/],
    ["10.0.0.1: {}\n", /names\.yml:1:1: key "10\.0\.0\.1" is no key of a name/],
    ["as:1: {}\n'as:1': {}\n", /names\.yml:2:1: key "as:1" is given twice/],
    ["- a\n", /names\.yml:1:1: expected a mapping from keys \(names\) to entries/],
  ] as const) {
    await writeFile(path, text);
    await assert.rejects(reader.load(), place);
    assert.equal(reader.current().size, 3);
    const [finding] = checkMetadataFile(Buffer.from(text), undefined, "names").findings;
    assert.equal(finding?.severity, "error");
  }
});

interface Violation {
  readonly field: string;
  readonly description: string;
}

function violationsOf(body: JsonAnswer["body"]): readonly Violation[] {
  const details = body["details"] as { debug: { fieldViolations?: Violation[] } }[];
  return details.flatMap(({ debug }) => debug.fieldViolations ?? []);
}
