// Faults of the file of scopes: each with its place and what is expected there.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readScopesFile } from "../../src/metadata/index.ts";

suite("a file of scopes is refused with the place of each fault", () => {
  for (const [what, yaml, ...expected] of [
    ["no YAML", "acme: [\n", /^2:1: /],
    ["no UTF-8", Buffer.from([0x61, 0xff]), /^1:2: /],
    ["a list", "- acme\n", /^1:1: expected a mapping/],
    ["a name", "Big: {}\n", /^1:1: .*expected a name of up to 63 characters.*found "Big"/],
    ["a name that is too long", `${"a".repeat(64)}: {}\n`, /^1:1: .*expected a name of up to 63 characters/],
    ["a scope twice", "acme: {}\nacme: {}\n", /^2:1: .*acme/],
    ["an unknown key", "acme: {inherits: false}\n", /^1:8: .*inherits/],
    ["no bool", "acme:\n  inherit: maybe\n", /^2:12: .*inherit: expected/],
    ["a row that names nothing", "acme:\n  match:\n    - {}\n", /^3:7: .*row 1: names nothing: expected vrf, exporter/],
    ["no exporter", "acme: {match: [{exporter: no}]}\n", /^1:27: .*exporter.*"no" is not/],
    ["a VLAN", "acme: {match: [{vlan: 4096}]}\n", /^1:23: .*vlan.*expected a VLAN from 0 to 4095/],
    ["VLANs the wrong way round", "acme: {match: [{vlan: 20-10}]}\n", /^1:23: .*expected a VLAN/],
    [
      "a file of two scopes",
      "acme: {entries: a.yml}\nbeta: {entries: ./a.yml}\n",
      /^2:17: .*is the file of scope "acme" already/,
    ],
    ["the metadata file", "acme: {entries: ipaddrs.yml}\n", /^1:17: .*is the file of the global entries already/],
    [
      "several faults",
      "acme: {inherit: 3}\nBig: {}\nbeta: {match: [{vlan: x}]}\n",
      /1:17: .*inherit/,
      /; 2:1: .*found "Big"/,
      /; 3:23: .*expected a VLAN/,
    ],
  ] as const) {
    test(what, () => {
      assert.throws(
        () => readScopesFile("/etc/netgloss/scopes.yml", Buffer.from(yaml), "/etc/netgloss/ipaddrs.yml"),
        (error) => {
          assert.ok(error instanceof Error);
          for (const finding of expected) assert.match(error.message, finding);
          return true;
        },
      );
    });
  }
});
