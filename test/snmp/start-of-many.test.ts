import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeNetwork } from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

test("a start with many devices gives the event loop its turn", async (t) => {
  const devices = tempDirectory(t);
  const count = 400;
  const text = Array.from(
    { length: count },
    (_, i) => `d${i}: {ip: 192.0.2.${i % 250}, port: ${1000 + i}, communities: [public]}\n`,
  );
  writeFileSync(join(devices, "d.yml"), text.join(""));
  let steps = 0;
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(resolve(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write() {} },
    // Work takes a millisecond between two looks at the clock.
    clock: { now: () => systemClock.now(), monotonic: () => steps++ },
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    openSocket: createFakeNetwork().open,
  });
  let isStarting = true;
  let begun = 0;
  let most = 0;
  const look = (): void => {
    const now = [...snmp.devices()].filter(({ discovery }) => discovery !== undefined).length;
    most = Math.max(most, now - begun);
    begun = now;
    if (isStarting) setImmediate(look);
  };
  setImmediate(look);
  await snmp.start();
  isStarting = false;
  cleanUp(t, () => snmp.stop());
  look();
  assert.equal(begun, count);
  assert.ok(most <= 64, `${most} devices begun in one turn`);
  const ids = [...snmp.devices()].map(({ device }) => device);
  assert.deepEqual(ids, ids.toSorted());
  const [first] = snmp.devices();
  assert.equal(first?.device, ids[0]);
});
