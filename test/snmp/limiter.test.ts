import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { Limiter } from "../../src/snmp/limits.ts";
import { runs } from "../support/runs.ts";

test("as much runs as the current limit allows, in order, and a raised limit counts at once", async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant("begin" as const) },
    { weight: 3, arbitrary: fc.nat(5).map((which) => ({ end: which })) },
    fc.integer({ min: 1, max: 5 }).map((limit) => ({ limit })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let limit = 2;
      const limiter = new Limiter(() => limit);
      const started: number[] = [];
      const running = new Map<number, () => void>();
      let begun = 0;
      for (const one of steps) {
        const ranBefore = running.size;
        if (one === "begin") {
          const number = begun++;
          void limiter.run(() => {
            started.push(number);
            return new Promise<void>((resolve) => running.set(number, resolve));
          });
        } else if ("end" in one) {
          const [number, end] = [...running][one.end % Math.max(1, running.size)] ?? [];
          if (number !== undefined) running.delete(number);
          end?.();
        } else {
          ({ limit } = one);
          limiter.changed();
        }
        await turn();
        assert.deepEqual(
          started,
          Array.from({ length: started.length }, (_, i) => i),
        );
        // Nothing waits while there is room.
        if (one === "begin") assert.ok(running.size <= Math.max(limit, ranBefore), "no more than allowed begin");
        assert.ok(started.length === begun || running.size >= limit, `${running.size} run, ${limit} may`);
      }
    }),
    runs(200),
  );
});
