import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fieldNames } from "../../src/flow/mapping/field-names.ts";
import { reversePen } from "../../src/flow/registry/registry.ts";
import { buildPlan } from "../../src/flow/template/build-plan.ts";
import type { FieldSpecifier, Template } from "../../src/flow/template/template.ts";
import { runs } from "../support/runs.ts";

/** Few elements, most of which share names with others, so that templates repeat them and let them compete. */
const element = fc.oneof(
  fc.constantFrom(...fieldNames.map(([id]) => id)),
  fc.constantFrom(70, 71, 79, 104, 313, 315, 291, 292, 293, 1, 8, 27, 5, 195, 32, 176, 152, 22, 23, 85),
  fc.integer({ min: 0, max: 0xffff }),
);
const field: fc.Arbitrary<FieldSpecifier> = fc.record({
  pen: fc.constantFrom(0, 0, 0, 0, reversePen, 637, 9),
  id: element,
  length: fc.constantFrom(0, 1, 2, 4, 8, 16, 0xffff),
});
const template: fc.Arbitrary<Template> = fc.record({
  id: fc.constant(256),
  dialect: fc.constantFrom("netflow9", "ipfix"),
  fields: fc.array(field, { minLength: 1, maxLength: 40 }),
  scopeCount: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
});

test("no two steps of a plan can write one name, and every field has a place for its value", () => {
  fc.assert(
    fc.property(template, (given) => {
      const plan = buildPlan(given);
      if (plan === undefined) {
        assert.ok(given.fields.every(({ length }) => length === 0));
        return;
      }
      const writers = new Map<string, Set<number>>();
      const placed = new Set<number>();
      plan.steps.forEach(({ kind, outputs }, step) => {
        assert.equal(outputs.length > 1, kind !== "field");
        for (const { field: index, name, fallback } of outputs) {
          if (fallback !== undefined) placed.add(index);
          for (const written of [name, fallback?.name, fallback?.hexName]) {
            if (written !== undefined) writers.set(written, (writers.get(written) ?? new Set()).add(step));
          }
        }
      });
      for (const [name, steps] of writers) assert.equal(steps.size, 1, name);
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
