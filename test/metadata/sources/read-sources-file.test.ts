import assert from "node:assert/strict";
import { test } from "node:test";
import { readSourcesFile, SourcesFileError } from "../../../src/metadata/index.ts";

function findingsOf(text: string): string[] {
  try {
    readSourcesFile(text);
    return [];
  } catch (error) {
    assert.ok(error instanceof SourcesFileError);
    return error.findings.map(({ line, message }) => `${line}: ${message}`);
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
    '1: unknown kind "netbax": did you mean netbox?',
    "2: a source of kind netbox needs a url",
    '3: the name "a b" must be 1 to 63 letters, digits, - and _, and begin with a letter or digit',
    '3: the url "ftp://x" must begin with http:// or https://',
    "4: url and path exclude one another",
    "4: the url must have no credentials: use username with password_file or password_env",
    '5: a source of kind csv has no "intervall": did you mean interval?',
    '6: the name "one" is given twice',
    "6: interval must be a time from 5s to 30d, like 30s, 15m, 6h or 1d",
    "6: max_shrink must be a share from 0% to 100%",
    "7: objects has vlans: expected prefixes, ip-addresses, ip-ranges",
    '8: map has no "colums": did you mean columns?',
    "9: token_file and token_env exclude one another",
    "10: a source must be a mapping",
  ]);
  assert.match(findingsOf("a: [")[0] ?? "", /^1: /);
});
