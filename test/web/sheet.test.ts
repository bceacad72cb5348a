import assert from "node:assert/strict";
import { test } from "node:test";
import { whatIsAsked } from "../../web/src/format/what-is-asked.ts";
import { routerSnippets, usualPort } from "../../web/src/pages/exporters/router-snippets.ts";
import { columnMap, guessTargets, readSheetHead } from "../../web/src/pages/metadata/sheet.ts";
import { readColumnMap } from "../../src/metadata/index.ts";

test("the head of a sheet: delimiter, quotes, a byte order mark, a line that says the delimiter", () => {
  const head = readSheetHead('\uFEFFsep=;\r\nPrefix;"Site; name"\r\n10.0.0.0/8;"a ""b"""\r\n10.1.0.0/16;c');
  assert.deepEqual(head, {
    columns: ["Prefix", "Site; name"],
    rows: [
      ["10.0.0.0/8", 'a "b"'],
      ["10.1.0.0/16", "c"],
    ],
  });
  assert.deepEqual(readSheetHead("a\tb\n1\t2\n").columns, ["a", "b"]);
  assert.deepEqual(readSheetHead(""), { columns: [], rows: [] });
});

test("columns are guessed, each field once, and the map of them is one that the collector takes", () => {
  const columns = ["Network", "Description", "Name", "VLAN ID", "Tags", "Owner", ""];
  const targets = guessTargets(columns);
  assert.deepEqual(targets, ["key", "name", "metadata:.name", "vlan", "tags", "metadata:.owner", ""]);
  const map = JSON.parse(columnMap(columns, targets, ["plan"])) as { columns: Record<string, unknown> };
  assert.deepEqual(Object.keys(map.columns), columns.slice(0, -1));
  readColumnMap(map);
  assert.deepEqual(guessTargets(["Site", ".rack.row", "metadata:plain", "Cost Centre"]), [
    "metadata:.site",
    "metadata:.rack.row",
    "metadata:plain",
    "metadata:.cost_centre",
  ]);
  assert.deepEqual(guessTargets(["Site", "site", "SITE", ".site"]), [
    "metadata:.site",
    "metadata:.site_2",
    "metadata:.site_3",
    "metadata:.site_4",
  ]);
  assert.match(columnMap(["__proto__"], ["name"], []), /"columns":\{"__proto__":"name"\}/);
});

test("a text in the Explain box is an address, a prefix or a range, or words", () => {
  const kindOf = (text: string): string => whatIsAsked(text).kind;
  assert.deepEqual(["10.1.2.3", " ::1 ", "2001:db8::5"].map(kindOf), ["address", "address", "address"]);
  assert.deepEqual(["10.0.0.0/8", "10.0.0.1-10.0.0.9", "2001:db8::/32"].map(kindOf), ["prefix", "prefix", "prefix"]);
  assert.deepEqual(["web-1", "10.0.0.0/x", "pci", "a-b-c"].map(kindOf), ["words", "words", "words", "words"]);
  assert.equal(kindOf("  "), "nothing");
});

test("commands for every router have the collector's address and port, and the port that is usual where it is open", () => {
  for (const { text, id } of routerSnippets) {
    const commands = text({ address: "192.0.2.53", port: 14739 });
    assert.ok(commands.includes("192.0.2.53") && commands.includes("14739"), id);
  }
  assert.equal(usualPort("sflow", [2055, 6343]), 6343);
  assert.equal(usualPort("ipfix", [9999]), 9999);
});
