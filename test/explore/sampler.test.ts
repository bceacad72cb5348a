import assert from "node:assert/strict";
import { test } from "node:test";
import { createSampler } from "../../src/explore/index.ts";

test("what is taken stands for all, whatever the factor does meanwhile", () => {
  const sampler = createSampler(Math.random, 100);
  let sum = 0;
  let taken = 0;
  for (let second = 0; second < 20; second++) {
    for (let i = 0; i < 1000; i++) {
      const weight = sampler.next();
      sum += weight;
      if (weight > 0 && second > 0) taken++;
    }
    sampler.judgeRate(1);
  }
  assert.ok(Math.abs(sum - 20_000) <= sampler.factor, `${sum}`);
  assert.ok(taken <= 19 * 100, `${taken} of 19 seconds`);
  assert.equal(sampler.factor, 16);
});

test("a burst after a calm is thinned at once, and what is taken stands for all of it", () => {
  const sampler = createSampler(Math.random, 1000);
  for (let second = 0; second < 5; second++) sampler.judgeRate(1);
  const weights = Array.from({ length: 100_000 }, () => sampler.next()).filter((weight) => weight > 0);
  assert.ok(weights.length < 2200, `${weights.length} of 100 000 are taken before the rate is judged`);
  assert.ok(
    weights.slice(0, 999).every((weight) => weight === 1),
    "what a second may bring is taken whole",
  );
  const sum = weights.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 100_000) <= sampler.factor, `${sum}`);
  sampler.judgeRate(1);
  assert.equal(sampler.factor, 128);
  sampler.judgeRate(1);
  assert.equal(sampler.factor, 1);
});

test("a full inbox doubles the factor, a calm one halves it much later", () => {
  const sampler = createSampler(Math.random, 0);
  sampler.adapt(0.6, 0);
  assert.equal(sampler.factor, 2);
  sampler.adapt(0.9, 100);
  assert.equal(sampler.factor, 2, "a change takes a while to show");
  sampler.adapt(0.9, 300);
  assert.equal(sampler.factor, 4);
  sampler.adapt(0.01, 5000);
  assert.equal(sampler.factor, 4);
  sampler.adapt(0.01, 10_400);
  assert.equal(sampler.factor, 2);
  sampler.adapt(0.01, 20_500);
  assert.equal(sampler.factor, 1);
});
