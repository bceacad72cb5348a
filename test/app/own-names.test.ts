// Names of interfaces, AS numbers, VLANs, ports and MAC addresses in records.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { OwnNames } from "../../src/enrich/index.ts";
import { parseNameKey, type UdmWrite } from "../../src/metadata/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { renderFields, type RecordFields, type Value } from "../../src/record/index.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { cleanUp, type Owner } from "../support/clean-up.ts";
import { startFlowCollector } from "../support/flow-collector.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { postJson } from "../server/api-fixture.ts";

interface NameText {
  readonly key: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

const exporters = ["192.0.2.1", "2001:db8::1"];
const interfaceNames = ["Gi0/1", 'odd "name" %20 ä', "7"];
const numbers = fc.integer({ min: 1, max: 3 });
const macs = ["00:00:5e:00:53:01", "00:00:5e:00:53:02", "00:55:da:1f:00:00"];
const keys = fc.oneof(
  fc.tuple(fc.constantFrom(...exporters), numbers).map(([exporter, index]) => `interface:${exporter}/${index}`),
  fc
    .tuple(fc.constantFrom(...exporters), fc.constantFrom(...interfaceNames))
    .map(([exporter, name]) => `interface:${exporter}/${encodeURIComponent(name)}`),
  numbers.map((number) => `as:${number}`),
  fc.tuple(fc.constantFrom("*", ...exporters), numbers).map(([exporter, id]) => `vlan:${exporter}/${id}`),
  fc.tuple(fc.constantFrom("tcp", "udp"), numbers).map(([protocol, port]) => `port:${protocol}/${port}`),
  fc.constantFrom("mac:00", "mac:00:00:5e", "mac:00:55:da:10/28", ...macs.map((mac) => `mac:${mac}`)),
);
const entries: fc.Arbitrary<readonly NameText[]> = fc.uniqueArray(
  fc.record({
    key: keys.map((key) => parseNameKey(key).text),
    name: fc.constantFrom("", "one", 'two "2"'),
    tags: fc.subarray(["a", "b"]),
    metadata: fc.dictionary(fc.constantFrom(".site", ".tag.color", "rack", "flow.bytes"), fc.constantFrom("x", "y"), {
      maxKeys: 2,
    }),
  }),
  { selector: ({ key }) => key, maxLength: 12 },
);
const optional = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const records: fc.Arbitrary<RecordFields> = fc
  .record({
    "flow.export.ip.addr": fc.constantFrom(...exporters),
    "flow.bytes": fc.nat(),
    "l4.proto.id": optional(fc.constantFrom(6, 17, 1)),
    "flow.in.netif.index": optional(numbers),
    "flow.in.netif.name": optional(fc.constantFrom(...interfaceNames)),
    "flow.out.netif.index": optional(numbers),
    "flow.src.as.asn": optional(numbers),
    "flow.dst.as.asn": optional(numbers),
    "flow.dst.as.org": optional(fc.constant("of a database")),
    "flow.src.vlan.tag.id": optional(numbers),
    "flow.dst.l4.port.id": optional(numbers),
    "flow.dst.l4.port.name": optional(fc.constant("built in")),
    "flow.src.mac.addr": optional(fc.constantFrom(...macs)),
  })
  .map(
    (fields) =>
      new Map(Object.entries(fields).filter((field): field is [string, string | number] => field[1] !== undefined)),
  );

/** What is looked at in turn: the object, the field with what is named, the keys of names that count. */
const model: readonly (readonly [
  object: string,
  field: string,
  keys: (value: string, record: RecordFields) => string[],
])[] = [
  ...["flow.in.netif", "flow.out.netif"].map((object) => {
    const keysOf = (index: string, record: RecordFields): string[] => {
      const name = record.get(`${object}.name`);
      const of = `interface:${record.get("flow.export.ip.addr") as string}/`;
      return [
        of + index,
        ...(typeof name === "string" && !/^\d+$/.test(name) ? [parseNameKey(of + encodeURIComponent(name)).text] : []),
      ];
    };
    return [object, `${object}.index`, keysOf] as const;
  }),
  ...["flow.src", "flow.dst"].flatMap((end) => [
    [`${end}.as`, `${end}.as.asn`, (asn: string) => [`as:${asn}`]] as const,
    [
      `${end}.vlan`,
      `${end}.vlan.tag.id`,
      (id: string, record: RecordFields) => [
        `vlan:${record.get("flow.export.ip.addr") as string}/${id}`,
        `vlan:*/${id}`,
      ],
    ] as const,
    [
      `${end}.l4.port`,
      `${end}.l4.port.id`,
      (port: string, record: RecordFields) => [
        `port:${record.get("l4.proto.id") === 6 ? "tcp" : record.get("l4.proto.id") === 17 ? "udp" : "none"}/${port}`,
      ],
    ] as const,
    [
      `${end}.mac`,
      `${end}.mac.addr`,
      (mac: string) =>
        [`mac:${mac}`, "mac:00:55:da:10/28", "mac:00:00:5e", "mac:00"].filter((key) =>
          mac.startsWith(key.slice(4).replace(/.\/28$/, "")),
        ),
    ] as const,
  ]),
];

function slowly(record: RecordFields, names: readonly NameText[]): Record<string, Value> {
  const own = new Map<string, Value[]>();
  for (const [object, field, keysOf] of model) {
    const value = record.get(field);
    if (value === undefined) continue;
    const found = keysOf(String(value), record).flatMap((key) => names.filter((entry) => entry.key === key));
    const given = new Map<string, Value>();
    for (const { key, name, metadata } of found) {
      const isPrefix = key.startsWith("mac:") && !macs.includes(key.slice(4));
      const suffixes = object.endsWith(".as")
        ? [".org", ".label"]
        : [object.endsWith(".vlan") ? ".tag.name" : isPrefix ? ".vendor" : ".name"];
      for (const suffix of name === "" ? [] : suffixes) {
        if (!given.has(object + suffix))
          given.set(object + suffix, suffix === ".label" ? `${name} (${String(value)})` : name);
      }
      for (const [at, text] of Object.entries(metadata)) {
        const as = at.startsWith(".") ? object + at : at;
        if (!given.has(as)) given.set(as, text);
      }
    }
    const tags = [...new Set(found.flatMap((entry) => entry.tags))];
    if (tags.length > 0) given.set(`${object}.tags`, tags);
    for (const [name, text] of given) own.set(name, [...(own.get(name) ?? []), text]);
  }
  const fields: Record<string, Value> = Object.fromEntries(record);
  for (const [name, values] of own) {
    const all = [...new Set(values.flat())] as string[];
    fields[name] = values.length === 1 ? (values[0] as Value) : all.length === 1 ? (all[0] as string) : all;
  }
  return fields;
}

async function openStore(t: Owner): Promise<ReturnType<typeof storeOn>["store"]> {
  const { store } = storeOn(memoryFileIo(), { keys: "names" });
  cleanUp(t, () => store.stop());
  await store.start();
  return store;
}

test("records get what a slow model says, after each change", async (t) => {
  const store = await openStore(t);
  const names = new OwnNames(store.watchAddresses, createMetrics());
  cleanUp(t, () => names.stop());
  await names.start();
  await fc.assert(
    fc.asyncProperty(entries, fc.array(records, { minLength: 1, maxLength: 8 }), async (texts, given) => {
      const writes: UdmWrite[] = [...store.current().entries()].map(({ key }) => ({ op: "delete", key }));
      await store.commit(writes);
      await store.commit(
        texts.map(({ key, name, tags, metadata }) => {
          const values = { name, tags, vlan: 0n, internal: false, metadata: new Map(Object.entries(metadata)) };
          return { op: "create", key: parseNameKey(key), values };
        }),
      );
      const lines = Buffer.concat(
        given.map((record) =>
          Buffer.from(
            `{${renderFields([...record])
              .toString()
              .slice(1)}}\n`,
          ),
        ),
      );
      const shaped = names.shape(lines, given.length);
      if (texts.length === 0) assert.equal(shaped?.lines, lines);
      const made = Buffer.from(shaped?.lines ?? [])
        .toString()
        .trimEnd()
        .split("\n");
      assert.deepEqual(
        made.map((line) => JSON.parse(line) as unknown),
        given.map((record) => slowly(record, texts)),
      );
      for (const line of made) {
        // No name is there twice.
        const found = Object.keys(JSON.parse(line) as object);
        assert.equal((line.match(/[,{]"[\w.]+":/g) ?? []).length, found.length, line);
      }
    }),
    runs(150),
  );
});

test("a name of another's way goes out under another name", async (t) => {
  const store = await openStore(t);
  const names = new OwnNames(store.watchAddresses, createMetrics());
  cleanUp(t, () => names.stop());
  await names.start();
  const metadata = new Map([
    [".asn.x", "1"],
    ["flow", "2"],
  ]);
  const values = { name: "", tags: [], vlan: 0n, internal: false, metadata };
  await store.commit([{ op: "create", key: parseNameKey("as:1"), values }]);
  const { lines = [] } = names.shape(Buffer.from('{"flow.src.as.asn":1}\n'), 1) ?? {};
  assert.equal(Buffer.from(lines).toString(), '{"flow.src.as.asn":1,"flow.value":"2","flow.src.as.asn_x":"1"}\n');
});

test("names of two things that are in each other's way, and one that the line begins with", async (t) => {
  const store = await openStore(t);
  const names = new OwnNames(store.watchAddresses, createMetrics());
  cleanUp(t, () => names.stop());
  await names.start();
  const values = { name: "", tags: [], vlan: 0n, internal: false };
  await store.commit([
    { op: "create", key: parseNameKey("as:1"), values: { ...values, metadata: new Map([["rack", "1"]]) } },
    { op: "create", key: parseNameKey("as:2"), values: { ...values, metadata: new Map([["rack.row", "2"]]) } },
  ]);
  const shaped = (line: string): string => Buffer.from(names.shape(Buffer.from(line), 1)?.lines ?? []).toString();
  const ends = '"flow.src.as.asn":1,"flow.dst.as.asn":2';
  assert.equal(shaped(`{${ends}}\n`), `{${ends},"rack.value":"1","rack.row":"2"}\n`);
  assert.equal(shaped('{"rack":"a","flow.src.as.asn":1}\n'), '{"rack":"1","flow.src.as.asn":1}\n');
  assert.equal(shaped('{"flow.src.as.asn":1,"rack":"a"}'), '{"flow.src.as.asn":1,"rack":"1"}');
});

test("thousands of interfaces keep their names", async (t) => {
  const store = await openStore(t);
  const names = new OwnNames(store.watchAddresses, createMetrics());
  cleanUp(t, () => names.stop());
  await names.start();
  const values = { tags: [], vlan: 0n, internal: false, metadata: new Map<string, string>() };
  const count = 3000;
  const indexes = Array.from({ length: count }, (_, i) => (i * 7919) % count);
  await store.commit(
    indexes.map((i) => {
      return {
        op: "create",
        key: parseNameKey(`interface:192.0.2.1/${i}`),
        values: { ...values, name: `n${i}` },
      } as const;
    }),
  );
  const line = (input: number, output: number): string =>
    `{"flow.export.ip.addr":"192.0.2.1","flow.in.netif.index":${input},"flow.out.netif.index":${output}}\n`;
  const lines = Buffer.from(indexes.map((i) => line(i, count - 1 - i)).join(""));
  for (let round = 0; round < 2; round++) {
    const shaped = Buffer.from(names.shape(lines, count)?.lines ?? [])
      .toString()
      .trimEnd()
      .split("\n");
    const found = shaped.map((each) => JSON.parse(each) as Record<string, unknown>);
    assert.deepEqual(
      found.map((record) => [record["flow.in.netif.name"], record["flow.out.netif.name"]]),
      indexes.map((i) => [`n${i}`, `n${count - 1 - i}`]),
    );
  }
});

test("names stay right when more values come than are kept", async (t) => {
  const store = await openStore(t);
  const names = new OwnNames(store.watchAddresses, createMetrics());
  cleanUp(t, () => names.stop());
  await names.start();
  const values = { name: "own", tags: [], vlan: 0n, internal: false, metadata: new Map<string, string>() };
  await store.commit([{ op: "create", key: parseNameKey("interface:192.0.2.1/7"), values }]);
  const pad = "x".repeat(900);
  const lineOf = (name: string): string =>
    `{"flow.export.ip.addr":"192.0.2.1","flow.in.netif.index":7,"flow.in.netif.name":"${name}",` +
    '"flow.out.netif.index":7}\n';
  const expected = Buffer.from(
    '{"flow.export.ip.addr":"192.0.2.1","flow.in.netif.index":7,"flow.out.netif.index":7,' +
      '"flow.in.netif.name":"own","flow.out.netif.name":"own"}\n',
  );
  // Each line counts as more than a kilobyte, so 64 MiB are passed on the way.
  for (let round = 0; round < 60; round++) {
    const lines = Buffer.from(Array.from({ length: 1000 }, (_, i) => lineOf(`${pad}${round}.${i}`)).join(""));
    const shaped = Buffer.from(names.shape(lines, 1000)?.lines ?? []);
    assert.ok(shaped.equals(Buffer.concat(Array.from({ length: 1000 }, () => expected))), `round ${round}`);
  }
});

for (const threads of ["main", "1"]) {
  test(`a write is seen by the next datagram, decoded by ${threads}`, async (t) => {
    const folder = tempDirectory(t);
    const rules = join(folder, "rules.yml");
    await writeFile(
      rules,
      "- {name: uplinks, when: '`flow.in.netif.name` = uplink', set: {.in.role: transit, .in.netif.team: rule, team: rule}}\n",
    );
    const { collector, send } = await startFlowCollector(t, {
      SVC_PROCESSOR_POOL_SIZE: threads,
      SVC_PROCESSOR_ENRICH_NAMES_PATH: join(folder, "names.yml"),
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(folder, "ipaddrs.yml"),
      SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_RULES_PATH: rules,
    });
    const base = `http://127.0.0.1:${collector.apiPort()}`;
    const call = async (method: string, body: unknown): Promise<void> => {
      const { status, body: answer } = await postJson(`${base}/names.v1.NameService/${method}`, body);
      assert.equal(status, 200, JSON.stringify(answer));
    };
    const datagram = netflow5([{ ports: [50_000, 443] }]);
    const port = "flow.dst.l4.port.name";
    const shown = async (): Promise<unknown[]> => {
      const record = await send(datagram);
      return ["flow.in.netif.name", port, "flow.in.netif.owner", "flow.in.role"].map((name) => record[name]);
    };
    assert.deepEqual(await shown(), [undefined, "https", undefined, undefined]);
    const metadata = { ".owner": "noc", ".team": "name", team: "name" };
    await call("CreateUdm", { udm: { key: "interface:127.0.0.1/1", name: "uplink", metadata } });
    const [name, , owner, role] = await shown();
    assert.deepEqual([name, owner, role], ["uplink", "noc", "transit"]);
    const teams = async (): Promise<unknown[]> => {
      const record = await send(datagram);
      return [record["flow.in.netif.team"], record["team"]];
    };
    assert.deepEqual(await teams(), ["rule", "rule"], "a field of a rule stands in place of metadata");
    await call("UpdateUdm", { udm: { key: "interface:127.0.0.1/1", name: "downlink", metadata } });
    assert.deepEqual(await teams(), ["name", "name"], "where the rule is not true");
    await call("UpdateUdm", { udm: { key: "interface:127.0.0.1/1", name: "uplink", metadata } });
    await call("CreateUdm", { udm: { key: "port:tcp/443", name: "portal" } });
    await call("UpdateUdm", { udm: { key: "interface:127.0.0.1/1", name: "downlink" } });
    assert.deepEqual(await shown(), ["downlink", "portal", undefined, undefined]);
    const asked = { ip: "192.0.2.2", context: "src", port: 443, exporter: "127.0.0.1", ifIndex: 1 };
    const { body } = await postJson(`${base}/udm.v1.UdmToolsService/ExplainAddress`, asked);
    const [context] = body["contexts"] as { fields: { field: string; origins: { source: string }[] }[] }[];
    const sources = new Map(context?.fields.map(({ field, origins }) => [field, origins[0]?.source]));
    assert.equal(sources.get("flow.in.netif.name"), "names interface:127.0.0.1/1");
    assert.equal(sources.get("flow.src.l4.port.name"), "names port:tcp/443");
    await call("DeleteUdm", { key: "interface:127.0.0.1/1" });
    await call("DeleteUdm", { key: "port:tcp/443" });
    assert.deepEqual(await shown(), [undefined, "https", undefined, undefined]);
  });
}
