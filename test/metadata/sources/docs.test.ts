import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { readColumnMap, readyMapNames, readSourcesFile, sourceKinds } from "../../../src/metadata/index.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/sources.md"), "utf8");
const [sources = "", columnMaps = ""] = page.split("## Column maps");
const example = (text: string): string => /```yaml\n(.*?)```/s.exec(text)?.[1] ?? "";

test("the example of sources is one, and every kind has a row", () => {
  assert.deepEqual(
    readSourcesFile(example(sources)).map(({ name, kind }) => `${name} ${kind}`),
    ["netbox netbox", "plan csv", "aws aws", "drop list"],
  );
  const kinds = sources.slice(sources.indexOf("## Kinds"), sources.indexOf("## Fields"));
  for (const [name, { options }] of Object.entries(sourceKinds)) {
    const row = kinds.split("\n").find((line) => line.split("|")[1]?.includes(`\`${name}\``)) ?? "";
    assert.notEqual(row, "", name);
    for (const option of options) assert.ok(row.includes(`\`${option}\``), `${name} has ${option}`);
  }
});

test("the example of sources and scopes says where each VRF goes", () => {
  const [, section = ""] = sources.split("## Sources and scopes");
  const [netbox] = readSourcesFile(example(section));
  const [rule] = netbox?.map?.rules ?? [];
  assert.deepEqual(
    [rule?.from, rule?.to, Object.fromEntries(rule?.values ?? [])],
    [["vrf.name"], "scope", { "Customer Red": "acme", "Customer Blue": "beta", Management: "" }],
  );
});

test("the example of a column map is one, and every ready map has a row", () => {
  const map = readColumnMap(load(example(columnMaps)));
  assert.deepEqual(
    map.rules.map(({ from, to }) => `${from[0]} ${to}`),
    ["Network key", "Description name", "VLAN vlan", "Owner metadata:tenant", "Owner tags", "Site metadata:.site.name"],
  );
  for (const name of readyMapNames) assert.ok(columnMaps.includes(`| \`${name}\` |`), name);
});
