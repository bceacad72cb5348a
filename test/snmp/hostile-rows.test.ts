import assert from "node:assert/strict";
import { resolve } from "node:path";
import { before, test } from "node:test";
import * as fc from "fast-check";
import type { RecordFields } from "../../src/record/index.ts";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import {
  DefinitionsLoader,
  decodeIndex,
  definitionPathsIn,
  putRow,
  type Cell,
  type Definitions,
  type NameTables,
  type SnmpValue,
} from "../../src/snmp/index.ts";
import { runs } from "../support/runs.ts";

let definitions: Definitions;

before(async () => {
  const paths = definitionPathsIn(resolve(import.meta.dirname, "../../../definitions"));
  const loaded = await new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load("start");
  assert.ok(loaded.definitions);
  definitions = loaded.definitions;
});

/** What an agent may send in the place of any value: of the wrong type, negative, as large as the type can be, without end. */
const hostileValue: fc.Arbitrary<SnmpValue> = fc.oneof(
  fc.record({
    type: fc.constant("Integer32" as const),
    value: fc.oneof(fc.integer(), fc.constantFrom(-0x8000_0000, -1, 0, 0x7fff_ffff)),
  }),
  fc.record({
    type: fc.constantFrom("Counter32" as const, "Gauge32" as const, "TimeTicks" as const),
    value: fc.oneof(fc.nat(), fc.constant(0xffff_ffff)),
  }),
  fc.record({
    type: fc.constant("Counter64" as const),
    value: fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }),
  }),
  fc.record({
    type: fc.constantFrom("OctetString" as const, "Opaque" as const, "IpAddress" as const),
    value: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(new Uint8Array(60_000).fill(0x39))),
  }),
  fc.record({
    type: fc.constant("ObjectIdentifier" as const),
    value: fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { maxLength: 128 }),
  }),
  fc.constant({ type: "Null" as const, value: null }),
);

/** Parts of an instance: too few, too many, larger than a length can be. */
const hostileInstance = fc.array(fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(0xffff_ffff, 0x8000_0000)), {
  maxLength: 128,
});

/** Octets as hexadecimal text are twice as long, and escaped ones a little longer. */
const largestField = 400_000;

test("whatever an agent sends in any table, a record is made of numbers that are some and texts that end", () => {
  const objects = [...definitions.objects.values()];
  const names: NameTables = { enums: definitions.enums, interfaceName: () => undefined };
  fc.assert(
    fc.property(
      fc.nat({ max: objects.length - 1 }),
      hostileInstance,
      fc.array(hostileValue, { minLength: 1, maxLength: 8 }),
      (at, instance, values) => {
        const object = objects[at];
        assert.ok(object);
        const cells = [...object.attributes.values()].map((attribute, i): Cell => [
          attribute,
          values[i % values.length] as SnmpValue,
        ]);
        const parts = decodeIndex(
          object.index.map(({ type }) => type),
          instance,
        );
        assert.ok(parts === undefined || parts.length === object.index.length, object.id);
        const fields: RecordFields = new Map();
        if (parts !== undefined)
          putRow(
            fields,
            object.index.map((part, i): Cell => [part, parts[i] as SnmpValue]),
            names,
          );
        const { unreadable, implausible } = putRow(fields, cells, names);
        assert.ok(unreadable.length + implausible.length <= cells.length, object.id);
        for (const [field, value] of fields) {
          if (typeof value === "number") assert.ok(Number.isFinite(value), `${object.id} ${field}: ${value}`);
          if (typeof value === "string")
            assert.ok(value.length <= largestField, `${object.id} ${field}: ${value.length}`);
        }
      },
    ),
    runs(1500),
  );
});
