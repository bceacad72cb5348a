import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/base/report/index.ts";
import { lastTurn } from "../../src/snmp/poller/poll-times.ts";
import { patientDevice, startSnmpRig } from "../support/snmp-rig.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const hour = 3_600_000;

test("a device has one place in the interval, whenever it is asked for, and devices are spread", () => {
  for (const id of ["192.0.2.1:161", "[2001:db8::1]:161"]) {
    const first = lastTurn(id, 60_000, 1_700_000_000_000);
    for (let later = 0; later < 60_000; later += 7001) {
      const turn = lastTurn(id, 60_000, first + later);
      assert.equal(Math.round(turn - first), 0);
      assert.ok(turn <= first + later);
    }
    assert.equal(Math.round(lastTurn(id, 60_000, first + 60_001) - first), 60_000);
  }
  const places = Array.from(
    { length: 1000 },
    (_, i) => (lastTurn(`10.0.0.${i}:161`, 60_000, 1_700_000_060_000) / 1000) % 60,
  );
  for (let second = 0; second < 60; second += 10) {
    const share = places.filter((place) => place >= second && place < second + 10).length;
    assert.ok(share > 100 && share < 240, `${share} of 1000 devices in the ten seconds from ${second}`);
  }
});

test("after a restart a device is polled in its turn; only a turn that was missed is made up for", async (t) => {
  const persist = tempDirectory(t);
  const hourly = patientDevice
    .replace("poll_interval: 1\n", "poll_interval: 3600\n")
    .replace(/poll_intervals: .*/, "poll_intervals: {dynamic: 3600, stable: 3600}");
  // Just after a turn of the device, so that none falls into the test.
  const ahead = lastTurn("192.0.2.1:161", hour, Date.now()) + hour + 1000 - Date.now();
  const clock = { ...systemClock, now: () => Date.now() + ahead };
  const rig = await startSnmpRig(t, { persist, clock, files: { "devices/lab.yml": hourly } });
  await rig.polled();
  await sleep(50);
  const polled = rig.records.length;
  const turn = (): number => lastTurn("192.0.2.1:161", hour, clock.now()) + hour;
  const before = turn();
  await rig.restart();
  await until("the plan", () => rig.device().state === "up");
  await sleep(200);
  assert.equal(rig.records.length, polled);
  assert.ok(Math.abs(Date.parse(rig.device().nextPoll ?? "") - before) < 1000);
  // A collector that stopped an hour ago has missed a turn.
  await rig.snmp.stop();
  writeFileSync(join(persist, "last-stop"), `${clock.now() - hour}\n`);
  rig.snmp = rig.create();
  await rig.snmp.start();
  await until("a poll at once", () => rig.records.length > polled);
});
