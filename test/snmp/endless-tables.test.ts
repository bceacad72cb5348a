import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryBudget, freeOfEachLease } from "../../src/snmp/limits.ts";
import { OversizedObjects } from "../../src/snmp/poller/object-polls.ts";
import type { Pdu } from "../../src/snmp/session/message-codec.ts";
import { quickDevice, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

/** Every table below `root` goes on for ever, once it is asked for: rows 1, 2, 3 and so on. */
function goOnForEver(rig: SnmpRig, root: string): void {
  rig.agent.faults.liesAbout = (response, request): Pdu => {
    if (request.type !== "getBulk" || !request.varbinds.every(({ oid }) => oid.join(".").startsWith(root)))
      return response;
    const columnLength = root.split(".").length + 1;
    const varbinds: Pdu["varbinds"][number][] = [];
    for (let row = 1; row <= request.errorIndex; row++) {
      for (const { oid } of request.varbinds) {
        const last = oid.length > columnLength ? (oid[columnLength] as number) : 0;
        varbinds.push({ oid: [...oid.slice(0, columnLength), last + row], type: "Integer32", value: row });
      }
    }
    return { ...response, varbinds };
  };
}

describe("tables without an end", () => {
  test("are cut off at max_rows, marked, counted, reported, and left out for some polls", async (t) => {
    const rig = await startSnmpRig(t, {
      agent: { maxMessageSize: 60_000 },
      files: { "devices/lab.yml": `${quickDevice.replace("timeout: 400", "timeout: 2000")}  max_rows: 500\n` },
    });
    await rig.polled();
    goOnForEver(rig, "1.3.6.1.2.1.2.2.1");
    await until("the end of it", async () => (await rig.count("tables_cut_total")) === 1);
    const partial = () => rig.of("IF-MIB::ifTable").filter((record) => record["snmp.object.isPartial"] === true).length;
    await until("the records", () => partial() === 500);
    assert.match(rig.device().lastError?.message ?? "", /^IF-MIB::ifTable: .*more than 500 rows/);
    // The names of the endless table have not become the device's.
    assert.deepEqual(Object.keys(rig.device().interfaces), ["1", "2", "7"]);
    const polls = (await rig.count("polls_total")) ?? 0;
    await until("two more polls", async () => ((await rig.count("polls_total")) ?? 0) >= polls + 3);
    assert.equal(await rig.count("tables_cut_total"), 1);
    assert.equal(rig.device().state, "up");
    await until("the next attempt", async () => (await rig.count("tables_cut_total")) === 2);
  });
});

test("a budget counts what is above each lease's share, in itself and in the outer one, and gets it back", () => {
  const outer = new MemoryBudget(1000);
  const inner = new MemoryBudget(800, outer);
  const [a, b] = [inner.lease(), inner.lease()];
  assert.ok(a.take(freeOfEachLease) && b.take(freeOfEachLease));
  assert.equal(inner.used, 0);
  assert.ok(a.take(700));
  assert.deepEqual([inner.used, outer.used], [700, 700]);
  assert.ok(!b.take(101));
  const c = outer.lease();
  assert.ok(c.take(freeOfEachLease + 300));
  assert.ok(!c.take(1));
  assert.ok(!b.take(1));
  a.end();
  assert.deepEqual([inner.used, outer.used], [0, 300]);
  b.end();
  c.end();
  assert.deepEqual([inner.used, outer.used], [0, 0]);
});

test("an object that was too large is left out for 2, 4, 8 … polls, and forgiven when it fits", () => {
  const oversized = new OversizedObjects();
  const leftOut = (): number => {
    let polls = 0;
    while (!oversized.mayRead("t")) polls++;
    return polls;
  };
  assert.equal(leftOut(), 0);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7].map(() => (oversized.cut("t"), leftOut())),
    [2, 4, 8, 16, 32, 64, 64],
  );
  oversized.fits("t");
  oversized.cut("t");
  assert.equal(leftOut(), 2);
});
