import assert from "node:assert/strict";
import { test } from "node:test";
import { formatShapeFinding } from "../../../src/base/yaml/index.ts";
import { readSourcesFile, SourcesFileError } from "../../../src/metadata/index.ts";

function findingsOf(text: string): string[] {
  try {
    readSourcesFile(text);
    return [];
  } catch (error) {
    assert.ok(error instanceof SourcesFileError);
    return error.findings.map(formatShapeFinding);
  }
}

test("sources come in the order of their priority, with what their kind says", () => {
  const sources = readSourcesFile(
    "sources:\n  - {kind: aws, priority: 5}\n  - {name: plan, kind: csv, path: /x, interval: 1h}\n",
  );
  assert.deepEqual(
    sources.map(({ name, intervalMs, url, path }) => [name, intervalMs, url, path]),
    [
      ["plan", 3_600_000, undefined, "/x"],
      ["aws", 86_400_000, "https://ip-ranges.amazonaws.com/ip-ranges.json", undefined],
    ],
  );
  const times = readSourcesFile(
    "- {kind: csv, path: /x, timeout: 5s}\n- {kind: netbox, url: 'http://x', timeout: 5s}\n- {kind: phpipam, url: 'http://x', max_time: 1h}\n",
  );
  assert.deepEqual(
    times.map(({ maxTimeMs }) => maxTimeMs / 1000),
    [50, 21_600, 3600],
  );
  assert.deepEqual(readSourcesFile(""), []);
});

test("a path or an interval that is empty is not the same as one left out", () => {
  assert.deepEqual(findingsOf(`- {kind: aws, path: "", interval: "", token_file: "", username: ""}`), [
    "1:21: source 1: path: expected a path, found an empty text",
    "1:35: source 1: interval: expected a time from 5s to 30d, like 30s, 15m, 6h or 1d, found an empty text",
    "1:51: source 1: token_file: expected a path, found an empty text",
  ]);
});

test("words of YAML 1.1 are bools, and a column may have no name", () => {
  const [source] = readSourcesFile("[{kind: csv, path: /x, csv: {typed_headers: no, header: [ip, ~]}}]");
  assert.equal(source?.csv.hasTypedHeaders, false);
  assert.deepEqual(source?.csv.header, ["ip", ""]);
});

test("all that is wrong is found at once, with its line", () => {
  const text = [
    "- {kind: netbax, url: 'http://x'}",
    "- {kind: netbox}",
    "- {kind: netbox, name: a b, url: 'ftp://x'}",
    "- {kind: csv, url: 'http://u:p@x/', path: /y}",
    "- {kind: csv, name: one, path: /y, intervall: 1h}",
    "- {kind: csv, name: one, path: /y, interval: 1 week, guard: {max_shrink: 130%}}",
    "- {kind: netbox, name: n, url: 'http://x', objects: [vlans]}",
    "- {kind: csv, name: m, path: /y, map: {colums: {}}}",
    "- {kind: list, name: t, path: /y, token_file: /a, token_env: B}",
    "- x",
  ].join("\n");
  assert.deepEqual(findingsOf(text), [
    '1:10: source 1: kind: expected one of csv, json, ndjson, yaml, netbox, phpipam, infoblox, aws, azure, gcp, cloudflare, github, list, kubernetes, kea, isc-dhcp, dnsmasq; found "netbax" (did you mean "netbox"?)',
    "2:3: source 2: url is missing",
    '3:24: source 3: name: expected 1 to 63 letters, digits, - and _, beginning with a letter or digit; found "a b"',
    '3:34: source 3: url: expected an address that begins with http:// or https://, found "ftp://x"',
    "4:20: source 4: url: must have no credentials: use username with password_file or password_env",
    "4:37: source 4: path: url and path exclude one another",
    '5:36: source 5: intervall: unknown key (did you mean "interval"?)',
    '6:3: source 6: the name "one" is given twice',
    '6:46: source 6: interval: expected a time from 5s to 30d, like 30s, 15m, 6h or 1d; found "1 week"',
    '6:74: source 6: guard: max_shrink: expected a share from 0% to 100%, found "130%"',
    "7:3: source 7: objects has vlans: expected prefixes, ip-addresses, ip-ranges",
    '8:40: source 8: map: colums: unknown key (did you mean "columns"?)',
    "9:51: source 9: token_env: token_file and token_env exclude one another",
    "10:3: source 10: expected a mapping, found a text",
  ]);
  assert.match(findingsOf("a: [")[0] ?? "", /^1:5: /);
});
