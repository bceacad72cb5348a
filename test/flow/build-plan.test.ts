import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fieldNames } from "../../src/flow/elements/mapping/element-names.ts";
import { reversePen } from "../../src/flow/elements/registry/registry.ts";
import { buildPlan } from "../../src/flow/exporters/build-plan.ts";
import type { Step } from "../../src/flow/exporters/plan.ts";
import type { FieldSpecifier, Template } from "../../src/flow/exporters/plan.ts";
import { runs } from "../support/runs.ts";

/** Few elements, most of which share names with others, so that templates repeat them and let them compete. */
const element = fc.oneof(
  fc.constantFrom(...fieldNames.map(([id]) => id)),
  fc.constantFrom(70, 71, 79, 104, 313, 315, 291, 292, 293, 1, 8, 27, 5, 195, 32, 176, 152, 22, 23, 85),
  fc.integer({ min: 0, max: 0xffff }),
);
const field: fc.Arbitrary<FieldSpecifier> = fc.oneof(
  fc.record({
    pen: fc.constantFrom(0, 0, 0, 0, reversePen, 637, 9),
    id: element,
    length: fc.constantFrom(0, 1, 2, 4, 8, 16, 0xffff),
  }),
  // Of headers, which templates have more than once.
  fc
    .constantFrom(
      { id: 8, length: 4 },
      { id: 12, length: 4 },
      { id: 27, length: 16 },
      { id: 28, length: 16 },
      { id: 4, length: 1 },
      { id: 7, length: 2 },
      { id: 180, length: 2 },
    )
    .map(({ id, length }) => ({ pen: 0, id, length })),
);
const template: fc.Arbitrary<Template> = fc.record({
  id: fc.constant(256),
  dialect: fc.constantFrom("netflow9", "ipfix"),
  fields: fc.array(field, { minLength: 1, maxLength: 40 }),
  scopeCount: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
});

/** Whether one of them is not done where the other is. */
function areExclusive(a: Step, b: Step): boolean {
  return (a.when ?? []).some((one) =>
    (b.when ?? []).some(
      (other) => one.isSet !== other.isSet && JSON.stringify(one.fields) === JSON.stringify(other.fields),
    ),
  );
}

test("no two steps of a plan can write one name of a record, and every field has a place for its value", () => {
  fc.assert(
    fc.property(template, (given) => {
      const plan = buildPlan(given);
      if (plan === undefined) {
        assert.ok(given.fields.every(({ length }) => length === 0));
        return;
      }
      const writers = new Map<string, Set<Step>>();
      const placed = new Set<number>();
      for (const step of plan.steps) {
        const { kind, outputs } = step;
        assert.equal(outputs.length > 1, kind !== "field");
        for (const { field: index, name, fallback } of outputs) {
          if (fallback !== undefined) placed.add(index);
          for (const written of [name, fallback?.name, fallback?.hexName]) {
            if (written !== undefined) writers.set(written, (writers.get(written) ?? new Set()).add(step));
          }
        }
      }
      for (const [name, steps] of writers) {
        const all = [...steps];
        all.forEach((step, i) => {
          for (const other of all.slice(i + 1)) assert.ok(areExclusive(step, other), name);
        });
      }
      for (const step of plan.slowSteps) {
        for (const { field: index } of step.kind === "list" || step.kind === "packet"
          ? [step]
          : step.kind === "labels"
            ? step.fields
            : []) {
          assert.ok(!placed.has(index), `field ${index} is read twice`);
          placed.add(index);
        }
      }
      given.fields.forEach(({ pen, id, length }, index) => {
        const isScope = given.dialect === "netflow9" && index < (given.scopeCount ?? 0);
        if (length === 0) return;
        assert.equal(placed.has(index), isScope || pen !== 0 || id !== 210, `field ${index}`);
      });
    }),
    runs(1000),
  );
});

test("the least length of a record counts a byte for each variable field", () => {
  const plan = (...lengths: number[]): number | undefined =>
    buildPlan({
      id: 256,
      dialect: "ipfix",
      fields: lengths.map((length, id) => ({ pen: 0, id: id + 1, length })),
      scopeCount: undefined,
    })?.minLength;
  assert.equal(plan(4, 0, 8), 12);
  assert.equal(plan(4, 0xffff, 0xffff), 6);
  assert.equal(plan(0, 0), undefined);
});
