import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import {
  ExchangeError,
  importEntries,
  importObjects,
  readColumnMap,
  readyMap,
  type ExchangeEntry,
  type ImportOptions,
  type ImportResult,
  udmJson,
} from "../../../src/metadata/index.ts";
import { createSelect } from "../../../src/app/index.ts";
import { countTurns } from "../../support/count-turns.ts";
import { runs } from "../../support/runs.ts";

function read(text: string | Uint8Array, options: Partial<ImportOptions> = {}): Promise<ImportResult> {
  return importEntries([typeof text === "string" ? Buffer.from(text) : text], { format: "csv", ...options });
}

async function jsonOf(text: string | Uint8Array, options: Partial<ImportOptions> = {}): Promise<unknown[]> {
  const result = await read(text, options);
  assert.deepEqual(result.faults, []);
  return result.entries.map(asJson);
}

function asJson(entry: ExchangeEntry): unknown {
  return JSON.parse(udmJson(entry));
}

async function faultsOf(text: string, options: Partial<ImportOptions> = {}): Promise<unknown[]> {
  const result = await read(text, options);
  assert.equal(result.faultCount, result.faults.length);
  return result.faults.map(({ row, line, column, field, reason }) => [row, line, column, field, reason]);
}

suite("a sheet", () => {
  const sheet = readyMap("sheet");

  test("may have any delimiter, a byte order mark, quoted line breaks and doubled quotes", async () => {
    const text = '\uFEFFPrefix;Name;VLAN ID;Room\r\n10.0.0.0/24;"a ""b"";\nc";12;"4"\r\n;;;\r\n10.0.1.0/24;d;;\r\n';
    const result = await read(text, { map: sheet });
    assert.deepEqual(
      result.faults.map(({ row, line, reason }) => [row, line, reason]),
      [[2, 2, 'name "a \\"b\\";\\nc" contains a control character']],
    );
    assert.deepEqual(result.entries.map(asJson), [{ key: "10.0.1.0/24", name: "d" }]);
  });

  test("has the row and the line of a fault below a cell of several lines", async () => {
    const text = 'key,name,note\n10.0.0.1,a,"x\ny\nz"\nbad,b,\n10.0.0.2,c,"p\nq"\nworse,d,\n';
    const map = readColumnMap({ columns: { key: "key", name: "name" } });
    assert.deepEqual(
      (await faultsOf(text, { map })).map((fault) => (fault as unknown[]).slice(0, 4)),
      [
        [3, 5, "key", "key"],
        [5, 8, "key", "key"],
      ],
    );
  });

  test("names its delimiter in the line that spreadsheets write", async () => {
    assert.deepEqual(await jsonOf("sep=|\nip|name\n10.0.0.1|a,b\n", { map: sheet }), [
      { key: "10.0.0.1", name: "a,b" },
    ]);
  });

  test("may be UTF-16 with a byte order mark", async () => {
    const text = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("ip\tname\r\n10.0.0.1\tZürich\r\n", "utf16le")]);
    assert.deepEqual(await jsonOf(text, { map: sheet }), [{ key: "10.0.0.1", name: "Zürich" }]);
  });

  test("has keys of address and mask, or of two ends", async () => {
    const text = "network,mask,start,end\n10.0.0.0,255.255.255.0,,\n10.1.0.0,/16,,\n,,10.2.0.1,10.2.0.9\n::,64,,\n";
    assert.deepEqual(await jsonOf(text, { map: sheet }), [
      { key: "10.0.0.0/24" },
      { key: "10.1.0.0/16" },
      { key: "10.2.0.1-10.2.0.9" },
      { key: "::/64" },
    ]);
  });

  test("has metadata in other columns", async () => {
    const text = "ip,Room Number,metadata:.site.id,Empty\n10.0.0.1,4,ams1,\n";
    const metadata = { Room_Number: "4", ".site.id": "ams1" };
    assert.deepEqual(await jsonOf(text, { map: sheet }), [{ key: "10.0.0.1", metadata }]);
  });

  test("shows all faults at once, with row, column and reason", async () => {
    const text = [
      "key,name,vlan,internal,tags",
      "10.0.0.300,a,,,",
      "10.0.0.1,b,x,maybe,",
      "10.0.0.2,c,,,,",
      "10.0.0.3,d,,,",
      "10.0.0.03,e,,,",
      ",f,,,",
      "10.0.0.3,g,,,",
    ].join("\n");
    const faults = await faultsOf(text, { map: sheet });
    assert.deepEqual(faults, [
      [2, 2, "key", "key", 'key "10.0.0.300" is not an IP address, a CIDR or a range <from>-<to>'],
      [3, 3, "vlan", "vlan", '"x" must be a whole number'],
      [3, 3, "internal", "internal", '"maybe" must be true or false, yes or no, 1 or 0'],
      [4, 4, "", "", "the row has 6 cells, but the header has 5"],
      [6, 6, "key", "key", 'key "10.0.0.03" is not an IP address, a CIDR or a range <from>-<to>'],
      [7, 7, "", "key", "the row has no key"],
      [8, 8, "", "key", 'key "10.0.0.3" is already in row 5'],
    ]);
  });

  test("counts all faults and keeps some", async () => {
    const text = `key\n${"bad\n".repeat(50)}`;
    const result = await read(text, { map: sheet, mostFaults: 3 });
    assert.equal(result.faults.length, 3);
    assert.equal(result.faultCount, 50);
    assert.equal(result.rows, 50);
  });

  test("without a column for keys is one fault", async () => {
    const faults = await faultsOf("a,b\n1,2\n3,4\n", { map: sheet });
    assert.equal(faults.length, 1);
    assert.match(
      String((faults[0] as unknown[])[4]),
      /^no column has the keys: expected one of "key", .*; the header has "a", "b"$/,
    );
  });

  test("with an open quote names where it begins", async () => {
    const result = await read('key,name\n10.0.0.1,a\n10.0.0.2,"b\n10.0.0.3,c\n', { map: sheet });
    assert.deepEqual(result.entries.map(asJson), [{ key: "10.0.0.1", name: "a" }]);
    assert.equal(result.faultCount, 1);
    const reason = "a quote in the row of line 3 is not closed: lines 3 to 4 are not read";
    assert.deepEqual(result.faults, [{ row: 3, line: 3, lines: 2, column: "", field: "", reason }]);
    const closed = await read('sep=,\nkey,name\n10.0.0.1,a\n10.0.0.2,"b\n10.0.0.3,"c"\n10.0.0.4,d\n', { map: sheet });
    assert.deepEqual(
      closed.faults.map(({ line, lines }) => [line, lines]),
      [[4, 2]],
    );
    // Where the row has line breaks of its own, CR LF, and where the quote closes further down, at a delimiter.
    const rows = ["key,name", '10.0.0.1,"a', "b", 'c"', '10.0.0.2,"d"d', "10.0.0.3,e", '10.0.0.4,f",x', "10.0.0.x,g"];
    for (const lineBreak of ["\n", "\r\n"]) {
      const { faults } = await read(rows.join(lineBreak), { map: sheet });
      assert.deepEqual(
        faults.map(({ line, lines }) => [line, lines]),
        [
          [2, undefined],
          [5, undefined],
          [6, 2],
          [8, undefined],
        ],
      );
    }
    const many = `key\n${"x\n".repeat(500)}"10.0.0.1\n10.0.0.2\n`;
    assert.equal((await read(many, { map: sheet })).faults.at(-1)?.line, 502, "kept, though there are many");
  });

  test("that is empty has no entries and no fault", async () => {
    assert.deepEqual(await read("", { map: sheet }), { entries: [], rows: 0, faults: [], faultCount: 0 });
  });

  test("in no known encoding is refused", async () => {
    await assert.rejects(
      read(Buffer.from([0x6b, 0x0a, 0xfc, 0x0a])),
      new ExchangeError("", "the text is not utf-8, near byte 4: save it as UTF-8"),
    );
  });

  test("may be of one header for each type of rows", async () => {
    const text = [
      "header-network,address*,netmask*,comment,EA-Site,EA-VLAN",
      "network,10.0.0.0,255.255.255.0,lan,AMS1,12",
      "header-dhcprange,start_address*,end_address*,comment",
      "dhcprange,10.0.0.10,10.0.0.99,pool",
      "zone,example.com,,",
    ].join("\n");
    const result = await read(text, { map: readyMap("infoblox"), csv: { hasTypedHeaders: true } });
    assert.deepEqual(result.entries.map(asJson), [
      { key: "10.0.0.0/24", name: "lan", vlan: "12", metadata: { ".site.name": "AMS1" } },
      { key: "10.0.0.10-10.0.0.99", name: "pool" },
    ]);
    assert.deepEqual(
      result.faults.map(({ row, reason }) => [row, reason]),
      [[5, 'there is no header "header-zone" above this row']],
    );
  });
});

suite("exports of products", () => {
  test("NetBox, from its table and from its interface", async () => {
    const table =
      'Prefix,Status,VRF,Tenant,Scope,VLAN,Role,Description,Tags\n10.9.0.0/24,Active,Global,Shop,AMS1,servers (20),lan,"web, db","pci,core"\n';
    const expected = {
      key: "10.9.0.0/24",
      name: "web, db",
      tags: ["pci", "core"],
      vlan: "20",
      metadata: { ".tenant.name": "Shop", ".site.name": "AMS1", ".role.name": "lan" },
    };
    const global = await read(table, { map: readyMap("netbox") });
    assert.deepEqual(global.entries.map(asJson), [expected]);
    const object = {
      prefix: "10.9.0.0/24",
      description: "web, db",
      tags: [
        { name: "PCI", slug: "pci" },
        { name: "Core", slug: "core" },
      ],
      vlan: { vid: 20, name: "servers" },
      tenant: { name: "Shop" },
      scope: { name: "AMS1" },
      role: { name: "lan" },
      vrf: null,
    };
    assert.deepEqual((await importObjects([object], readyMap("netbox"))).entries.map(asJson), [expected]);
  });

  test("phpIPAM", async () => {
    const text = "Section,Subnet,Mask,Description,VLAN,Location\nCustomers,10.3.0.0,/24,lan,7,AMS1\n";
    assert.deepEqual(await jsonOf(text, { map: readyMap("phpipam") }), [
      { key: "10.3.0.0/24", name: "lan", vlan: "7", metadata: { ".section.name": "Customers", ".site.name": "AMS1" } },
    ]);
  });

  test("Netdisco", async () => {
    const text =
      "Host,MAC Address,DNS,Last Used\n10.4.0.9,00:00:5e:00:53:01,pc9.example.net,today\n10.4.0.9,00:00:5e:00:53:02,other,x\n";
    assert.deepEqual(await jsonOf(text, { map: readyMap("netdisco") }), [
      { key: "10.4.0.9", name: "pc9.example.net", metadata: { ".mac.addr": "00:00:5e:00:53:01" } },
    ]);
  });
});

suite("a column map", () => {
  test("has targets, several of them, defaults, constants and a selection of rows", async () => {
    const map = readColumnMap({
      columns: {
        Net: "key",
        Who: ["metadata:tenant", { to: "tags", values: { Shop: "shop" } }],
        Labels: { to: "tags", split: "|" },
        VLAN: { to: "vlan", take: "number", default: "1" },
      },
      where: { State: ["on", ""] },
      defaults: { tags: ["plan"], metadata: { tenant: "nobody" } },
      constants: { internal: true },
    });
    const text = "Net,Who,Labels,VLAN,State\n10.0.0.0/8,Shop,a|b,v12,on\n10.1.0.0/16,,,,\n10.2.0.0/16,,,,off\n";
    assert.deepEqual(await jsonOf(text, { map }), [
      { key: "10.0.0.0/8", tags: ["shop", "a", "b", "plan"], vlan: "12", internal: true, metadata: { tenant: "Shop" } },
      { key: "10.1.0.0/16", tags: ["plan"], vlan: "1", internal: true, metadata: { tenant: "nobody" } },
    ]);
  });

  test("names a column that is not there", async () => {
    const map = readColumnMap({ columns: { Net: "key", Nmae: "name" } });
    assert.deepEqual(await faultsOf("Net,Name\n10.0.0.0/8,x\n", { map }), [
      [0, 0, "Nmae", "name", 'there is no column "Nmae": did you mean "Name"?'],
    ]);
    assert.deepEqual(await faultsOf('{"Net":"10.0.0.1"}', { map, format: "ndjson" }), [
      [0, 0, "Nmae", "name", 'no row has "Nmae"'],
    ]);
  });

  test("that says nonsense is refused with the field", () => {
    const refused = (map: unknown): string => {
      try {
        readColumnMap(map);
      } catch (error) {
        assert.ok(error instanceof ExchangeError);
        return `${error.field}: ${error.message}`;
      }
      return "";
    };
    const readyMaps = "one of netgloss, sheet, netbox, phpipam, infoblox, netdisco";
    assert.equal(refused("netbax"), `map: expected ${readyMaps}; found "netbax" (did you mean "netbox"?)`);
    assert.equal(refused({ ready: null }), "map.ready: map.ready must not be null");
    assert.equal(
      refused({ columns: { A: { to: "name", take: null } } }),
      'map.columns["A"].take: map.columns["A"].take must not be null',
    );
    assert.equal(refused({ defaults: null, constants: null, where: null }), "");
    const deep: unknown = JSON.parse(`${"[".repeat(50_000)}1${"]".repeat(50_000)}`);
    assert.match(refused({ columns: { A: deep } }), / must be a text$/);
    assert.equal(refused({ colums: {} }), 'map.colums: colums: unknown key (did you mean "columns"?)');
    assert.equal(
      refused({ columns: { A: "vlna" } }),
      'map.columns["A"]: column A: expected one of key, scope, name, tags, vlan, internal, contexts, metadata, otherFields, ' +
        'or metadata: and a key; found "vlna" (did you mean "vlan"?)',
    );
    assert.equal(
      refused({ columns: { A: { to: "name", mask: "B" } } }),
      'map.columns["A"]: column A: mask and until are for the key, not for name',
    );
    assert.equal(
      refused({ columns: { A: ["key", { to: "tags", splt: "," }] } }),
      'map.columns["A"][1].splt: column A: item 2: splt: unknown key (did you mean "split"?)',
    );
    assert.equal(refused({ rest: 3 }), 'map.rest: rest: expected one of ignore, metadata, refuse; found "3"');
    assert.equal(refused([]), `map: expected ${readyMaps}, found a list`);
  });
});

suite("JSON", () => {
  test("is a list, an answer of the interface, or what an expression selects", async () => {
    const udms = [{ key: "10.0.0.1", vlan: "18446744073709551615", contexts: ["exporter"] }];
    for (const text of [JSON.stringify(udms), JSON.stringify({ udms })]) {
      const { entries, faults } = await read(text, { format: "json" });
      assert.deepEqual(faults, []);
      assert.deepEqual(entries[0]?.contexts, ["exporter"]);
      assert.equal(entries[0]?.vlan, 2n ** 64n - 1n);
    }
    const deep = JSON.stringify({ a: { nets: [{ net: "10.0.0.0/8" }, { net: "10.1.0.0/16", off: true }] } });
    const by = 'a.nets[$exists(off) = false].{"key": net, "tags": ["x"]}';
    const select = (given: string): AsyncIterable<string> => createSelect()(given, by);
    assert.deepEqual(await jsonOf(deep, { format: "json", select }), [{ key: "10.0.0.0/8", tags: ["x"] }]);
  });

  test("has faults by path", async () => {
    const text = JSON.stringify([
      { key: "10.0.0.1", nmae: "x" },
      5,
      { key: "10.0.0.2", vlan: 2 ** 60 },
      { key: "10.0.0.3", name: {} },
    ]);
    assert.deepEqual(await faultsOf(text, { format: "json" }), [
      [1, 0, "nmae", "", 'unknown field "nmae"'],
      [2, 0, "", "", "the row is not an object"],
      [3, 0, "vlan", "vlan", "the number 1152921504606847000 is not exact in JSON: write it as a text"],
      [4, 0, "name", "name", "the value is an object: name one of its fields, as in tenant.name"],
    ]);
  });

  test("that breaks, or has no rows, is refused with the place", async () => {
    await assert.rejects(read('[\n {"a": }]', { format: "json" }), {
      message: /^the text is not JSON: (?:line 2, column 8: )?Unexpected token '?}/,
    });
    await assert.rejects(read("{}", { format: "json" }), { field: "select" });
    const select = (given: string): AsyncIterable<string> => createSelect()(given, "nothing");
    await assert.rejects(read("[]", { format: "json", select }), { field: "select", message: /gives nothing/ });
    const mixed = (given: string): AsyncIterable<string> => createSelect()(given, "$");
    assert.deepEqual(await faultsOf('[{"key":"10.0.0.1"},5,{"nmae":1}]', { format: "json", select: mixed }), [
      [2, 0, "", "", "the row is not an object"],
      [3, 0, "nmae", "", 'unknown field "nmae"'],
    ]);
  });

  test("with a name twice in one object is refused, row by row", async () => {
    const text = String.raw`{"more": 1, "results": [{"key":"10.0.0.1","name":"a","na\u006de":"b"},
      {"key":"10.0.0.2","metadata":{"x":"}\"]","x":"2"}}, {"key":"10.0.0.3","metadata":{"key":"k","name":"x"}}]}`;
    const expected = [
      [1, 0, "name", "", 'the name "name" is given twice in one object'],
      [2, 0, "x", "", 'the name "x" is given twice in one object'],
    ];
    assert.deepEqual(await faultsOf(text, { format: "json" }), expected);
    const { entries } = await read(text, { format: "json" });
    assert.deepEqual(entries.map(asJson), [{ key: "10.0.0.3", metadata: { key: "k", name: "x" } }]);
    const lines = '{"key":"10.0.0.1","key":"10.0.0.2"}\n{"key":"10.0.0.3"}\n';
    assert.deepEqual(
      (await faultsOf(lines, { format: "ndjson" })).map((fault) => (fault as unknown[])[0]),
      [1],
    );
    const twice = /^ExchangeError: the text is not JSON that can be read: the name "data" is given twice/;
    await assert.rejects(read('{"data":[],"data":[{"key":"10.0.0.1"}]}', { format: "json" }), twice);
    const select = (given: string): AsyncIterable<string> => createSelect()(given, "data");
    await assert.rejects(read('{"data":[],"data":[]}', { format: "json", select }), twice);
  });

  test("is read as the engine reads it", async () => {
    const rows = fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 8 });
    const inList = fc.tuple(rows, fc.constantFrom(0, 1, "\t"));
    const property = fc.asyncProperty(
      inList,
      fc.constantFrom("udms", "data", undefined),
      async ([all, space], name) => {
        const objects = all.map((value, i) => ({
          key: `10.0.0.${i}`,
          metadata: { value: JSON.stringify(value) },
          value,
        }));
        const text = JSON.stringify(
          name === undefined ? objects : { before: all, [name]: objects, after: 1 },
          null,
          space,
        );
        const { entries } = await read(text, { format: "json", map: { ...readyMap("netgloss"), rest: "ignore" } });
        assert.deepEqual(
          entries.map(({ metadata }) => JSON.parse(metadata.get("value") ?? "") as unknown),
          JSON.parse(JSON.stringify(all)),
        );
      },
    );
    await fc.assert(property, runs(100));
  });

  test("by lines has a fault for each bad line", async () => {
    const text = '{"key":"10.0.0.1"}\n\n{"key":\n[]\n{"key":"10.0.0.2"}';
    const result = await read(text, { format: "ndjson" });
    assert.deepEqual(result.entries.map(asJson), [{ key: "10.0.0.1" }, { key: "10.0.0.2" }]);
    assert.deepEqual(
      result.faults.map(({ row, line, reason }) => [row, line, reason]),
      [
        [3, 3, "the line is not JSON: it ends too early"],
        [4, 4, "the line is not an object"],
      ],
    );
  });
});

suite("YAML", () => {
  test("is the metadata file, or a list", async () => {
    const file = "10.0.0.0/8:\n  name: 01\n  tags: [a, b]\n  metadata: {.x: yes}\n10.0.0.1:\n";
    const expected = [
      { key: "10.0.0.0/8", name: "01", tags: ["a", "b"], metadata: { ".x": "yes" } },
      { key: "10.0.0.1" },
    ];
    assert.deepEqual(await jsonOf(file, { format: "yaml" }), expected);
    const list = "- key: 10.0.0.0/8\n  name: 01\n  tags: [a, b]\n  metadata: {.x: yes}\n- {key: 10.0.0.1}\n";
    assert.deepEqual(await jsonOf(list, { format: "yaml" }), expected);
  });

  test("keeps fields that mean nothing, as the file does, but a slip of a field is a fault", async () => {
    const text = "10.0.0.1:\n  name: a\n  owner: {first: b}\n  nmae: c\n10.0.0.2:\n  owner: 01\n";
    const { entries, faults } = await read(text, { format: "yaml" });
    assert.deepEqual(
      entries.map(({ key, otherFields }) => [key.text, otherFields]),
      [["10.0.0.2", "owner: 01\n"]],
    );
    assert.deepEqual(
      faults.map(({ row, reason }) => [row, reason]),
      [[1, 'unknown field "nmae"']],
    );
    const injected = '{"key":"10.0.0.1","otherFields":"vlan: 7"}\n{"key":"10.0.0.2","otherFields":"x"}\n';
    assert.deepEqual(
      (await read(injected, { format: "ndjson" })).faults.map(({ row, field, reason }) => [row, field, reason]),
      [
        [1, "otherFields", '"vlan: 7" is not YAML of other fields: vlan is a field of its own'],
        [2, "otherFields", '"x" is not YAML of other fields: expected a mapping from names to values'],
      ],
    );
  });

  test("and JSON of many rows leave others their turns, whatever one row says", async () => {
    const odd = { 5000: "  tags: &tags\n    - |\n      t\n", 9000: "  tags: *tags\n" };
    const rows = Array.from({ length: 20_000 }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    const texts = {
      yaml: rows.map((key, i) => `${key}:\n  name: n${i}\n${odd[i as 5000] ?? ""}`).join(""),
      json: JSON.stringify({ udms: rows.map((key, i) => ({ key, name: `n${i}` })) }),
    };
    for (const format of ["yaml", "json"] as const) {
      const turns = countTurns();
      const { entries, faults } = await read(texts[format], { format });
      turns.stop();
      if (format === "json") assert.deepEqual(faults, []);
      assert.equal(entries.length + faults.length, 20_000);
      assert.ok(turns.count >= rows.length / 500, `${turns.count} turns`);
    }
  });

  test("and JSON of one row that is too long are refused before it is read", async () => {
    const metadata = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`name${i}`, "v"]));
    const rows = [{ key: "10.0.0.1" }, { key: "10.0.0.2", metadata }];
    const tooLong = /line 1 takes more than 1048576 characters/;
    await assert.rejects(read(JSON.stringify(rows), { format: "json" }), tooLong);
    await assert.rejects(read(JSON.stringify(rows), { format: "yaml" }), /entry takes more than 1048576 characters/);
    const lines = `${[...rows, { key: "10.0.0.3" }].map((row) => JSON.stringify(row)).join("\n")}\n`;
    const { entries, faults } = await read(lines, { format: "ndjson" });
    assert.deepEqual(
      entries.map(({ key }) => key.text),
      ["10.0.0.1", "10.0.0.3"],
    );
    assert.deepEqual(
      faults.map(({ line, reason }) => [line, reason]),
      [[2, "the row takes more than 1048576 characters"]],
    );
  });

  test("has faults by line", async () => {
    const text = "10.0.0.0/8: {name: a}\n10.0.0.300: {}\n10.0.0.1: text\n10.0.0.2:\n  vlan: x\n";
    assert.deepEqual(
      (await faultsOf(text, { format: "yaml" })).map((fault) => (fault as unknown[]).slice(0, 4)),
      [
        [2, 2, "key", "key"],
        [3, 3, "", ""],
        [4, 4, "vlan", "vlan"],
      ],
    );
    await assert.rejects(read("a: [", { format: "yaml" }), /^ExchangeError: the text is not YAML/);
  });
});
