import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  AddressSelection,
  SelectedSource,
  UserHostNames,
  FileFindings,
  formatFinding,
  readHostNames,
  readSampleRates,
  readSelection,
} from "../../src/enrich/index.ts";
import { setWords } from "../../src/enrich/address/address-limbs.ts";
import { addressKey, keyContains, parseKey, type Address } from "../../src/base/ip/index.ts";
import { askFacts, findBy } from "../support/address-facts.ts";
import { runs } from "../support/runs.ts";
import { denseAddress, denseKeyText } from "../support/udm-entry.ts";

/** The errors of a file; empty where it is good. */
function errorsOf(read: (bytes: Uint8Array) => unknown, text: string): string[] {
  try {
    read(Buffer.from(text));
    return [];
  } catch (error) {
    assert.ok(error instanceof FileFindings);
    return error.findings.map((finding) => formatFinding(finding));
  }
}

test("sampling rates are read by address, CIDR or range; mistakes are named with their place", () => {
  const { value } = readSampleRates(Buffer.from("192.0.2.1: 1000\n2001:DB8::/32: '512'\n10.0.0.1-10.0.0.9: 2\n"));
  assert.deepEqual(
    [...value],
    [
      ["192.0.2.1", 1000],
      ["2001:db8::/32", 512],
      ["10.0.0.1-10.0.0.9", 2],
    ],
  );
  assert.deepEqual(errorsOf(readSampleRates, "192.0.2.1: 0\n192.0.2.2: 1/100\nhost: 5\n"), [
    '1:12: exporter 192.0.2.1: expected a sampling rate, a whole number from 1 to 2^32 - 1; found "0"',
    '2:12: exporter 192.0.2.2: expected a sampling rate, a whole number from 1 to 2^32 - 1; found "1/100"',
    '3:1: exporter host: "host" is not an IP address, a CIDR or a range <from>-<to>',
  ]);
  assert.deepEqual(errorsOf(readSampleRates, "2001:db8::1: 1\n2001:DB8:0::1: 2\n"), [
    "2:1: exporter 2001:DB8:0::1: is there twice",
  ]);
});

test("host names are read by address, names that are none are refused", () => {
  const { value } = readHostNames(Buffer.from("'192.0.2.1': DB.example.\n'::ffff:192.0.2.2': web\n2001:db8::1: six\n"));
  assert.deepEqual([...value.values()], ["db.example", "web", "six"]);
  assert.deepEqual([...readHostNames(Buffer.from("192.0.2.1: null\n")).value.values()], ["null"]);
  assert.deepEqual(errorsOf(readHostNames, "192.0.2.0/24: a\n192.0.2.1: [a]\n192.0.2.2: 'no name'\n"), [
    '1:1: address 192.0.2.0/24: expected an IP address, found "192.0.2.0/24"',
    "2:12: address 192.0.2.1: expected a host name: letters, digits, - and _ in labels between dots, found a list",
    '3:12: address 192.0.2.2: expected a host name: letters, digits, - and _ in labels between dots; found "no name"',
  ]);
  assert.deepEqual(errorsOf(readHostNames, "192.0.2.1: a\n::ffff:192.0.2.1: b\n"), [
    "2:1: address ::ffff:192.0.2.1: is there twice",
  ]);
});

test("a selection has lists of addresses, CIDRs and ranges", () => {
  const { value } = readSelection(
    Buffer.from("include: [10.0.0.0/8]\nexclude:\n  - 10.1.0.0-10.1.0.9\n  - 10.2.0.1\n"),
  );
  assert.deepEqual([value.include.length, value.exclude.length], [1, 2]);
  assert.deepEqual(readSelection(Buffer.from("include:\nexclude: ~\n")).value, { include: [], exclude: [] });
  assert.deepEqual(errorsOf(readSelection, "include: 10.0.0.0/8\nexclude: [x, {}]\nonly: []\n"), [
    "1:10: include: expected a list, each an address, a CIDR or a range, found a text",
    '2:11: exclude 1: "x" is not an IP address, a CIDR or a range <from>-<to>',
    "2:14: exclude 2: expected an address, a CIDR or a range, found a mapping",
    "3:1: only: unknown key, expected one of include, exclude",
  ]);
});

test("an address is selected when it is included, by no list or by one, and not excluded", () => {
  const words = new Int32Array(4);
  const keys = fc.array(denseKeyText, { maxLength: 6 });
  fc.assert(
    fc.property(keys, keys, (included, excluded) => {
      const include = included.map((text) => parseKey(text));
      const exclude = excluded.map((text) => parseKey(text));
      const selection = new AddressSelection(include, exclude);
      for (const family of [4, 6] as const) {
        for (let n = 0; n < 64; n++) {
          const address: Address = denseAddress(family, n);
          const isIn = (list: typeof include): boolean => list.some((key) => keyContains(key, addressKey(address)));
          setWords(words, address);
          const [a = 0, b = 0, c = 0, d = 0] = words;
          const expected = (include.length === 0 || isIn(include)) && !isIn(exclude);
          assert.equal(selection.has(a, b, c, d), expected, `${family} ${n}`);
        }
      }
    }),
    runs(200),
  );
});

test("names of a file count before name servers, which are asked about selected addresses only", () => {
  const reported: unknown[] = [];
  const listeners: ((address: Address | undefined) => void)[] = [];
  const servers = {
    objects: new Set(["flow.src"]),
    find: findBy(() => ({ fields: [[".host.name", "by-dns"]] })),
    watch: (changed: (address: Address | undefined) => void) => {
      listeners.push(changed);
      return () => void listeners.splice(0);
    },
  };
  const selected = new SelectedSource(servers);
  const named = new UserHostNames(selected);
  const end = named.watch((address) => reported.push(address));
  const nameOf = (text: string): unknown => askFacts(named, text).fields[0]?.[1];
  assert.equal(nameOf("192.0.2.1"), "by-dns");
  named.use(readHostNames(Buffer.from("192.0.2.1: own\n2001:db8::1: six")).value);
  selected.use(new AddressSelection([parseKey("192.0.2.0/24")], [parseKey("192.0.2.3")]));
  assert.deepEqual(reported, [undefined, undefined]);
  assert.deepEqual(
    ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.3.1", "2001:db8::1"].map((text) => nameOf(text)),
    ["own", "by-dns", undefined, undefined, "six"],
  );
  listeners[0]?.(undefined);
  assert.equal(reported.length, 3);
  end();
  assert.equal(listeners.length, 0);
});
