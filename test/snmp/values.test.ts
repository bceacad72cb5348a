import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RecordFields } from "../../src/record/index.ts";
import {
  convertValue,
  decodeIndex,
  fieldNames,
  indexTypes,
  isImplicit,
  parseOid,
  putRow,
  putValue,
  syntaxes,
  type FieldDefinition,
  type IndexType,
  type NameTables,
  type SnmpValue,
  type Syntax,
} from "../../src/snmp/index.ts";
import { runs } from "../support/runs.ts";

const int = (value: number): SnmpValue => ({ type: "Integer32", value });
const gauge = (value: number): SnmpValue => ({ type: "Gauge32", value });
const counter64 = (value: bigint): SnmpValue => ({ type: "Counter64", value });
const octets = (value: string | readonly number[]): SnmpValue => ({
  type: "OctetString",
  value: Uint8Array.from(Buffer.from(value as string)),
});
const hex = (value: string): SnmpValue => octets([...Buffer.from(value, "hex")]);
const oid = (value: string): SnmpValue => ({ type: "ObjectIdentifier", value: parseOid(value) ?? [] });
/** Text of which the last octets are missing. */
const cut = (text: string, missing: number): SnmpValue => octets([...Buffer.from(text).subarray(0, -missing)]);
const opaque = (value: string): SnmpValue => ({ type: "Opaque", value: Uint8Array.from(Buffer.from(value, "hex")) });
const none: SnmpValue = { type: "noSuchInstance", value: null };

const syntaxOf = (name: string): Syntax => {
  const syntax = syntaxes.get(name);
  assert.ok(syntax, name);
  return syntax;
};
const convert = (name: string, value: SnmpValue): unknown => convertValue(syntaxOf(name), value);

test("values by their syntax", () => {
  const table: readonly [string, SnmpValue, unknown][] = [
    ["Integer32", int(-5), -5],
    ["Counter64", counter64(18446744073709551615n), 18446744073709551615n],
    ["Counter64", counter64(9007199254740991n), 9007199254740991],
    ["Gauge32", octets("42"), 42],
    ["Gauge32", octets("18446744073709551615"), 18446744073709551615n],
    ["Float", octets("0.46"), 0.46],
    ["Float", octets(" -1.5\0"), -1.5],
    ["Float", opaque("9f78043eeb851f"), 0.46],
    ["Float", opaque("9f7908400921fb54442d18"), Math.PI],
    ["Float", opaque("9f78047fc00000"), undefined],
    ["Float", opaque("9f7804"), undefined],
    ["Gauge32", octets("n/a"), undefined],
    ["Gauge32", octets(""), undefined],
    ["Gauge32", oid(".1.3"), undefined],
    ["Gauge32", none, undefined],
    ["DisplayString", octets("eth0"), "eth0"],
    ["DisplayString", octets("Zürich\r\n"), "Zürich\r\n"],
    ["DisplayString", octets("name\0\0"), "name"],
    ["DisplayString", octets(""), ""],
    ["DisplayString", hex("0000"), ""],
    ["DisplayString", hex("4d43204b32202d20736bf8ed"), "MC K2 - skøí"],
    ["DisplayString", hex("436166e9"), "Café"],
    ["DisplayString", hex("d6d0cec42d31"), "d6d0cec42d31"],
    ["DisplayString", hex("5a80726963682d31"), "5a80726963682d31"],
    ["DisplayString", octets("北京-核心"), "北京-核心"],
    ["DisplayString", cut("北京-核心", 1), "北京-核"],
    ["DisplayString", cut("北京-核心", 2), "北京-核"],
    ["DisplayString", cut("Zürich 🏢", 1), "Zürich "],
    ["OctetString", hex("4d43204b32202d20736bf8ed"), "4d43204b32202d20736bf8ed"],
    ["OctetString", hex("a8d0e5f5afc0"), "a8d0e5f5afc0"],
    ["OctetString", octets("Zürich"), "Zürich"],
    ["DisplayString", hex("1b5b31"), "1b5b31"],
    ["DisplayString", int(7), "7"],
    ["DisplayString", oid(".1.3.6"), ".1.3.6"],
    ["DisplayString", none, undefined],
    ["HexString", octets("AB"), "4142"],
    ["TruthValue", int(1), true],
    ["TruthValue", int(2), false],
    ["TruthValue", int(0), undefined],
    ["MacAddress", hex("001b210a0b0c"), "00:1b:21:0a:0b:0c"],
    ["PhysAddress", octets("0:1B:21:a:b:c"), "00:1b:21:0a:0b:0c"],
    ["PhysAddress", octets("00-1B-21-0A-0B-0C"), "00:1b:21:0a:0b:0c"],
    ["PhysAddress", hex("00000000000000e0"), "00:00:00:00:00:00:00:e0"],
    ["PhysAddress", octets(""), ""],
    ["PhysAddress", int(1), undefined],
    ["IpAddress", { type: "IpAddress", value: Uint8Array.of(192, 0, 2, 1) }, "192.0.2.1"],
    ["InetAddress", hex("20010db8000000000000000000000001"), "2001:db8::1"],
    ["InetAddress", hex("fe80000000000000000000000000000100000002"), "fe80::1"],
    ["InetAddress", hex("c000020100000002"), "192.0.2.1"],
    ["InetAddress", octets("10.0.0.1"), "10.0.0.1"],
    ["InetAddress", octets("2001:DB8::1"), "2001:db8::1"],
    ["InetAddress", octets("010.040.001.039"), "10.40.1.39"],
    ["IpAddress", octets("10.0.0.08"), "10.0.0.8"],
    ["InetAddress", octets("router.example"), undefined],
    ["InetAddress", octets(""), undefined],
    ["ObjectIdentifier", oid("1.3.6.1.4.1"), ".1.3.6.1.4.1"],
    ["ObjectIdentifier", octets("1.3.6"), undefined],
    ["DateAndTime", hex("07e80b1e0d1e2f08"), "2024-11-30T13:30:47.8Z"],
    ["DateAndTime", hex("07e80b1e0d1e2f082b0200"), "2024-11-30T11:30:47.8Z"],
    ["DateAndTime", hex("07e80c1f170000002d0130"), "2025-01-01T00:48:00.0Z"],
    ["DateAndTime", hex("07e8021d00000000"), "2024-02-29T00:00:00.0Z"],
    ["DateAndTime", hex("07e7021d00000000"), undefined],
    ["DateAndTime", hex("0000000000000000"), undefined],
    ["DateAndTime", hex("270f0c1f170000002d0200"), undefined],
    ["DateAndTime", hex("07e80b1e0d1e2f082a0200"), undefined],
    ["DateAndTime", octets("2024"), undefined],
    ["TimeTicks", { type: "TimeTicks", value: 4294967295 }, 42949672950],
    ["PowerDbmOfDeciMicroWatt", int(10_000), 0],
    ["PowerDbmOfDeciMicroWatt", int(5012), -3],
    ["PowerDbmOfMicroWatt", int(500), -3.01],
    ["PowerDbmOfMicroWatt", int(0), undefined],
    ["PowerDbmOfMicroWatt", int(-5), undefined],
    ["TemperaturePer256C", int(-128), -0.5],
    ["VoltageDeciMilliVolt", int(32_851), 3.2851],
    ["CurrentDoubleMicroAmp", int(2565), 0.00513],
    ["PercentInText", octets("    5 Secs ( 11.04%)   60 Secs (  9.15%)  300 Secs ( 10.8%)"), 9.15],
    ["PercentInText", octets("12.30 %"), 12.3],
    ["PercentInText", octets("7"), 7],
    ["PercentInText", octets("n/a"), undefined],
    ["PercentInText", octets("..%"), undefined],
    ["PercentInText", int(5), undefined],
    ["TicksSec", int(90), 90_000],
    ["TicksMin", int(3), 180_000],
    ["TicksMilliSec", gauge(1), 1],
    ["TicksMicroSec", gauge(1500), 1.5],
    ["BytesB", gauge(10), 10],
    ["BytesKB", gauge(10), 10_000],
    ["BytesKiB", gauge(4294967295), 4398046510080],
    ["BytesKiB", counter64(2n ** 60n), 2n ** 70n],
    ["BytesTiB", gauge(4294967295), 4294967295n * 2n ** 40n],
    ["BandwidthMBits", gauge(10_000), 10_000_000_000],
    ["Percent100", gauge(37), 37],
    ["Percent1", octets("0.37"), 37],
    ["PercentDeci100", gauge(375), 37.5],
    ["TemperatureC", int(-4), -4],
    ["TemperatureDeciC", int(235), 23.5],
    ["TemperatureMilliC", int(48_250), 48.25],
    ["TemperatureF", int(212), 100],
    ["TemperatureDeciF", int(725), 22.5],
    ["TemperatureK", int(300), 26.85],
    ["TemperatureDeciC", int(-32_768), -3276.8],
    ["PowerCentiKiloWatt", gauge(121), 1210],
    ["PowerMilliWatt", gauge(121), 0.121],
    ["EnergyDeciKiloWattHour", gauge(19_516), 1_951_600],
    ["CurrentDeciAmp", gauge(65), 6.5],
    ["VoltageMilliVolt", gauge(3301), 3.301],
    ["FreqDeciHz", gauge(499), 49.9],
    ["PowerDeciDbm", int(-125), -12.5],
    ["EnumInteger", int(6), 6],
  ];
  for (const [name, value, expected] of table) {
    assert.deepEqual(convert(name, value), expected, `${name} of ${value.type} ${String(value.value)}`);
  }
});

test("every syntax takes any value without an error", () => {
  const anyValue = fc.oneof(
    fc.integer().map(int),
    fc.nat(2 ** 32 - 1).map(gauge),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(counter64),
    fc.uint8Array({ maxLength: 24 }).map((value): SnmpValue => ({ type: "OctetString", value })),
    fc.uint8Array({ maxLength: 14 }).map((value): SnmpValue => ({ type: "Opaque", value })),
    fc.uint8Array({ maxLength: 6 }).map((value): SnmpValue => ({ type: "IpAddress", value })),
    fc.array(fc.nat(2 ** 32 - 1), { maxLength: 8 }).map((value): SnmpValue => ({ type: "ObjectIdentifier", value })),
    fc.constantFrom<SnmpValue>({ type: "Null", value: null }, { type: "endOfMibView", value: null }),
  );
  const names: NameTables = {
    enums: { integer: new Map(), bitmap: new Map(), oid: new Map() },
    interfaceName: () => "x",
  };
  fc.assert(
    fc.property(anyValue, (value) => {
      for (const syntax of syntaxes.values()) {
        const fields: RecordFields = new Map();
        const target: FieldDefinition = { field: "a.b", syntax, oidText: ".1" };
        const isPut = putValue(fields, target, value, names);
        if (!isPut) assert.equal(fields.size, 0);
        for (const [name, field] of fields) {
          assert.ok(fieldNames(target).includes(name), name);
          if (typeof field === "number") assert.ok(Number.isFinite(field));
          if (typeof field === "bigint") assert.ok(field > Number.MAX_SAFE_INTEGER || field < Number.MIN_SAFE_INTEGER);
        }
      }
    }),
    runs(300),
  );
});

test("scaling is exact: integers as by bigint, decimals as by text", () => {
  const exact = (value: bigint): number | bigint => (value <= Number.MAX_SAFE_INTEGER ? Number(value) : value);
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
      assert.equal(convert("Counter64", counter64(value)), exact(value));
      assert.equal(convert("BytesKiB", counter64(value)), exact(value * 1024n));
      assert.equal(convert("BandwidthGBits", counter64(value)), exact(value * 1_000_000_000n));
    }),
  );
  fc.assert(
    fc.property(fc.nat(2 ** 32 - 1), (value) => {
      assert.equal(convert("BytesGB", gauge(value)), exact(BigInt(value) * 10n ** 9n));
      assert.equal(convert("CurrentMilliAmp", gauge(value)), Number(`${value}e-3`));
      assert.equal(convert("TemperatureDeciC", gauge(value)), Number(`${value}e-1`));
    }),
  );
});

const allTypes = [...indexTypes, "OctetString3"] as const;
const suffixArbitrary: { readonly [type in (typeof allTypes)[number]]: fc.Arbitrary<SnmpValue> } = (() => {
  const octetValue = (
    type: "OctetString" | "Opaque" | "IpAddress",
    length: { minLength?: number; maxLength: number },
  ) => fc.uint8Array(length).map((value): SnmpValue => ({ type, value }));
  const oidValue = fc
    .array(fc.nat(2 ** 32 - 1), { maxLength: 5 })
    .map((rest): SnmpValue => ({ type: "ObjectIdentifier", value: [1, 3, ...rest] }));
  const integer = fc.nat(2 ** 31 - 1).map(int);
  return {
    Integer: integer,
    Integer32: integer,
    Unsigned32: fc.nat(2 ** 32 - 1).map(gauge),
    IpAddress: octetValue("IpAddress", { minLength: 4, maxLength: 4 }),
    MacAddress: octetValue("OctetString", { minLength: 6, maxLength: 6 }),
    OctetString: octetValue("OctetString", { maxLength: 6 }),
    OctetString3: octetValue("OctetString", { minLength: 3, maxLength: 3 }),
    Opaque: octetValue("Opaque", { maxLength: 6 }),
    ObjectIdentifier: oidValue,
    ImplicitOctetString: octetValue("OctetString", { maxLength: 6 }),
    ImplicitObjectIdentifier: oidValue,
  };
})();

/** The rules of RFC 2578 section 7.7, the other way round. */
function encode(type: IndexType, { value }: SnmpValue): number[] {
  if (typeof value === "number") return [value];
  const parts = [...(value as Uint8Array | readonly number[])];
  const hasLength = type === "OctetString" || type === "Opaque" || type === "ObjectIdentifier";
  return hasLength ? [parts.length, ...parts] : parts;
}

const typesArbitrary = fc
  .array(fc.constantFrom(...allTypes), { minLength: 1, maxLength: 4 })
  .filter((types) => types.slice(0, -1).every((type) => !isImplicit(type)));

test("an index is decoded into what it was made of, and never from less or more", () => {
  const made = typesArbitrary.chain((types) =>
    fc.tuple(fc.constant(types), fc.tuple(...types.map((type) => suffixArbitrary[type]))),
  );
  fc.assert(
    fc.property(made, ([types, parts]) => {
      const suffix = parts.flatMap((part, i) => encode(types[i] as IndexType, part));
      assert.deepEqual(decodeIndex(types, suffix), parts);
      const isOpen = isImplicit(types.at(-1) as IndexType);
      if (!isOpen) {
        assert.equal(decodeIndex(types, [...suffix, 1]), undefined);
        if (suffix.length > 0) assert.equal(decodeIndex(types, suffix.slice(0, -1)), undefined);
      }
    }),
  );
});

test("any suffix decodes or does not, without an error", () => {
  fc.assert(
    fc.property(
      typesArbitrary,
      fc.array(fc.oneof(fc.nat(8), fc.nat(2 ** 32 - 1)), { maxLength: 12 }),
      (types, suffix) => {
        const parts = decodeIndex(types, suffix);
        if (parts !== undefined) assert.equal(parts.length, types.length);
      },
    ),
  );
  assert.equal(decodeIndex(["OctetString"], [2, 256, 1]), undefined);
  assert.equal(decodeIndex(["OctetString"], [4294967295, 1]), undefined);
  assert.equal(decodeIndex(["MacAddress"], [0, 1, 2, 3, 4, 999]), undefined);
  assert.equal(decodeIndex(["OctetString3"], [3, 1, 2, 3]), undefined);
  assert.deepEqual(decodeIndex([], []), []);
  assert.equal(decodeIndex([], [0]), undefined);
});

const names: NameTables = {
  enums: {
    integer: new Map([[".1.3.1", new Map([[1, "up"]])]]),
    bitmap: new Map([
      [
        ".1.3.2",
        new Map([
          [0, "first"],
          [9, "tenth"],
        ]),
      ],
    ]),
    oid: new Map([[".1.3.3", new Map([[".1.3.6.1", "internet"]])]]),
  },
  interfaceName: (index) => (index === 3 ? "ge-0/0/3" : undefined),
};

function put(field: string, syntax: string, oidText: string, value: SnmpValue): Record<string, unknown> {
  const fields: RecordFields = new Map();
  assert.ok(putValue(fields, { field, syntax: syntaxOf(syntax), oidText }, value, names));
  return Object.fromEntries(fields);
}

test("labels and names of interfaces", () => {
  assert.deepEqual(put("x.state", "EnumInteger", ".1.3.1", int(1)), { "x.state.name": "up" });
  assert.deepEqual(put("x.state", "EnumInteger", ".1.3.1", int(9)), { "x.state.id": 9 });
  assert.deepEqual(put("x.state", "EnumInteger", ".1.3.9", int(1)), { "x.state.id": 1 });
  assert.deepEqual(put("x.state.name", "EnumInteger", ".1.3.1", int(1)), { "x.state.name": "up" });
  assert.deepEqual(put("x.state", "EnumIntegerKeepID", ".1.3.1", int(1)), { "x.state.id": 1, "x.state.name": "up" });
  assert.deepEqual(put("x.oid", "EnumObjectIdentifier", ".1.3.3", oid(".1.3.6.1")), { "x.name": "internet" });
  assert.deepEqual(put("x", "EnumObjectIdentifierKeepOID", ".1.3.3", oid(".1.3.6.1")), {
    "x.oid": ".1.3.6.1",
    "x.name": "internet",
  });
  assert.deepEqual(put("x", "EnumObjectIdentifier", ".1.3.3", oid(".1.3.6.2")), { "x.oid": ".1.3.6.2" });
  assert.deepEqual(put("x", "EnumBitmap", ".1.3.2", hex("8041")), { "x.name": ["first", "tenth", "15"] });
  assert.deepEqual(put("x", "EnumBitmap", ".1.3.2", int(513)), { "x.name": ["first", "tenth"] });
  assert.deepEqual(put("x", "EnumBitmap", ".1.3.2", hex("0000")), {});
  assert.deepEqual(put("netif", "InterfaceIndex", ".1", int(3)), { "netif.index": 3, "netif.name": "ge-0/0/3" });
  assert.deepEqual(put("netif.index", "InterfaceIndex", ".1", int(4)), { "netif.index": 4 });
  assert.deepEqual(put("x.alias", "DisplayString", ".1", octets("")), {});
  const fields: RecordFields = new Map();
  assert.equal(putValue(fields, { field: "x", syntax: syntaxOf("EnumBitmap"), oidText: ".1" }, int(-1), names), false);
  assert.equal(fields.size, 0);
});

function row(cells: readonly [string, string, SnmpValue][]): { fields: Record<string, unknown>; unreadable: string[] } {
  const fields: RecordFields = new Map();
  const targets = cells.map(
    ([field, syntax, value]) => [{ field, syntax: syntaxOf(syntax), oidText: ".1.3.9" }, value] as const,
  );
  const unreadable = putRow(fields, targets, names).unreadable.map((target) => target.field);
  return { fields: Object.fromEntries(fields), unreadable };
}

test("blocks are times the size that stands in the same row", () => {
  const cells: [string, string, SnmpValue][] = [
    ["size", "BytesBlocks", int(-2)],
    ["used", "BytesBlocks", int(1000)],
    ["unit", "BytesBlockSize", int(4096)],
  ];
  assert.deepEqual(row(cells), { fields: { size: (2 ** 32 - 2) * 4096, used: 4_096_000, unit: 4096 }, unreadable: [] });
  assert.deepEqual(row(cells.slice(0, 2)), { fields: {}, unreadable: ["size", "used"] });
});

test("a value is times the factor in the same row, or divided by a negative one", () => {
  const factored = (value: number, factor: number): unknown =>
    row([
      ["factor", "ValueFactor", int(factor)],
      ["value", "FactoredValue", int(value)],
    ]).fields["value"];
  assert.deepEqual([factored(2440, -100), factored(3, 10), factored(7, 0), factored(7, 1)], [24.4, 30, 7, 7]);
  assert.deepEqual(row([["value", "FactoredValue", int(7)]]).fields, { value: 7 });
});

test("a sensor's value is moved by the scale and precision in the same row", () => {
  const sensor = (value: number, scale: number, precision: number): Record<string, unknown> =>
    row([
      ["scale", "EntitySensorScale", int(scale)],
      ["precision", "EntitySensorPrecision", int(precision)],
      ["value", "EntitySensorValue", int(value)],
    ]).fields;
  assert.equal(sensor(23, 9, 0)["value"], 23);
  assert.equal(sensor(235, 9, 1)["value"], 23.5);
  assert.equal(sensor(3301, 8, 0)["value"], 3.301);
  assert.equal(sensor(-1, 11, 2)["value"], -10_000);
  assert.deepEqual(row([["value", "EntitySensorValue", int(7)]]).fields, { value: 7 });
  assert.deepEqual(
    row([
      ["scale", "EntitySensorScale", int(99)],
      ["value", "EntitySensorValue", int(7)],
    ]).unreadable,
    ["value"],
  );
});

test("a reading is moved by what another attribute of the row says", () => {
  const read = (scale: FieldDefinition["scale"], by: SnmpValue | undefined, value = int(2305)): unknown => {
    const fields: RecordFields = new Map();
    const reading = { name: "value", field: "x", syntax: syntaxOf("VoltageMilliVolt"), oidText: ".1", scale };
    const other = { name: "by", field: "y", syntax: syntaxOf("DisplayString"), oidText: ".2" };
    const { unreadable } = putRow(
      fields,
      [[reading, value], ...(by === undefined ? [] : [[other, by] as const])],
      names,
    );
    assert.equal(unreadable.length, fields.has("x") ? 0 : 1);
    return fields.get("x");
  };
  const as = (kind: "digits" | "exponent" | "factor" | "divisor"): FieldDefinition["scale"] => ({
    attribute: "by",
    index: undefined,
    as: kind,
    factors: undefined,
  });
  const units = {
    attribute: "by",
    index: undefined,
    as: undefined,
    factors: new Map([
      ["mv", 0.1],
      ["2", 3],
    ]),
  };
  assert.equal(read(as("digits"), int(1)), 0.2305);
  assert.equal(read(as("exponent"), int(2)), 230.5);
  assert.equal(read(as("exponent"), int(-2)), 0.02305);
  assert.equal(read(as("factor"), gauge(3)), 6.915);
  assert.equal(read(as("divisor"), octets("10")), 0.2305);
  assert.equal(read(as("divisor"), int(0)), undefined);
  assert.equal(read(as("digits"), int(2_000_000)), undefined);
  assert.equal(read(as("digits"), octets("n/a")), undefined);
  assert.equal(read(as("digits"), undefined), undefined);
  assert.equal(read(units, octets("mV ")), 0.2305);
  assert.equal(read(units, int(2)), 6.915);
  assert.equal(read(units, octets("kV")), undefined);
  const parameter = { field: "optical.parameter", syntax: syntaxOf("Integer32"), oidText: ".3" };
  const byPart = { attribute: undefined, index: "optical.parameter", as: undefined, factors: new Map([["4", 0.1]]) };
  const other = { field: "optical.direction", syntax: syntaxOf("Integer32"), oidText: ".4" };
  const reading = { name: "value", field: "x", syntax: syntaxOf("Integer32"), oidText: ".1", scale: byPart };
  const fields: RecordFields = new Map();
  putRow(
    fields,
    [
      [other, int(9)],
      [parameter, int(4)],
      [reading, int(235)],
    ],
    names,
  );
  assert.equal(fields.get("x"), 23.5);
});

test("a state has what it means next to its label", () => {
  const enums = {
    integer: new Map([
      [
        ".1",
        new Map([
          [1, "ok"],
          [2, "notPresent"],
          [3, "off"],
        ]),
      ],
    ]),
    bitmap: new Map([
      [
        ".1",
        new Map([
          [0, "low battery"],
          [1, "fan failed"],
          [2, "shed"],
        ]),
      ],
    ]),
    oid: new Map(),
  };
  const read = (
    syntax: string,
    value: SnmpValue,
    said: [string, "ok" | "critical"][] = [],
    field = "a.state.name",
  ): unknown[] => {
    const fields: RecordFields = new Map();
    const severity = new Map(said);
    putRow(fields, [[{ field, syntax: syntaxOf(syntax), oidText: ".1", severity }, value]], { ...names, enums });
    return [fields.get("a.state.name") ?? fields.get("a.state.id"), fields.get("a.state.severity")];
  };
  assert.deepEqual(read("EnumInteger", int(1), [], "a.state"), ["ok", "ok"]);
  assert.deepEqual(read("EnumInteger", int(2)), ["notPresent", "unknown"]);
  assert.deepEqual(read("EnumInteger", int(2), [["not present", "critical"]]), ["notPresent", "critical"]);
  assert.deepEqual(read("EnumInteger", int(3), [["off", "ok"]]), ["off", "ok"]);
  assert.deepEqual(read("EnumInteger", int(9)), [9, "unknown"]);
  assert.deepEqual(read("EnumBitmap", hex("80")), [["low battery"], "warning"]);
  assert.deepEqual(read("EnumBitmap", hex("e0")), [["low battery", "fan failed", "shed"], "critical"]);
  assert.deepEqual(read("EnumBitmap", hex("20")), [["shed"], "unknown"]);
  assert.deepEqual(read("EnumBitmap", hex("00")), [undefined, "ok"]);
  const texts: readonly (readonly [string, string])[] = [
    ["Normal", "ok"],
    ["no alarm", "ok"],
    ["powerSupplyNoAC", "critical"],
    ["on but fan fail", "critical"],
    ["non-critical", "warning"],
    ["near overload", "warning"],
    ["DEGRADED", "warning"],
    ["Not installed", "unknown"],
    ["not functioning", "critical"],
    ["IN_SERVICE", "ok"],
    ["out of service", "critical"],
    ["xyzzy", "unknown"],
  ];
  for (const [text, severity] of texts) assert.deepEqual(read("DisplayString", octets(text)), [text, severity]);
});

test("an id of LLDP is the kind of address or name that its subtype says", () => {
  const id = (kind: "Chassis" | "Port", subtype: number, value: SnmpValue): unknown =>
    row([
      ["type", `Lldp${kind}IdSubtype`, int(subtype)],
      ["value", `Lldp${kind}Id`, value],
    ]).fields["value"];
  const mac = "586a314f427d";
  assert.equal(id("Chassis", 4, hex(mac)), "58:6a:31:4f:42:7d");
  assert.equal(id("Port", 3, hex(mac)), "58:6a:31:4f:42:7d");
  assert.equal(id("Chassis", 4, octets("58-6A-31-4F-42-7D")), "58:6a:31:4f:42:7d");
  assert.equal(id("Chassis", 4, octets("586a.314f.427d")), "586a.314f.427d");
  assert.equal(id("Chassis", 3, hex(mac)), "Xj1OB}");
  assert.equal(id("Chassis", 7, hex("a8d0e5f5afc0")), "a8d0e5f5afc0");
  assert.equal(id("Chassis", 5, hex("01c0000201")), "192.0.2.1");
  assert.equal(id("Port", 4, hex("0220010db8000000000000000000000001")), "2001:db8::1");
  assert.equal(id("Port", 4, hex("01c00002")), "01c00002");
  assert.equal(id("Port", 5, octets("ge-0/0/1")), "ge-0/0/1");
  assert.equal(id("Port", 5, octets("")), undefined);
  assert.deepEqual(row([["value", "LldpPortId", octets("1")]]), { fields: { value: "1" }, unreadable: [] });
  assert.deepEqual(row([["value", "LldpPortId", none]]).unreadable, ["value"]);
});

test("what cannot be read in a row is named, and the rest is there", () => {
  assert.deepEqual(
    row([
      ["a", "Gauge32", octets("n/a")],
      ["b", "Gauge32", gauge(1)],
      ["c", "TruthValue", int(7)],
    ]),
    { fields: { b: 1 }, unreadable: ["a", "c"] },
  );
});
