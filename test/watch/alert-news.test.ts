import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { startReceiver, startWatch, type WatchRig } from "./watch-rig.ts";

async function start(t: TestContext): Promise<WatchRig> {
  const receiver = await startReceiver(t);
  return startWatch(
    t,
    `actions:\n  noc: {webhook: {url: '${receiver.url}'}}\nrules:\n  - {name: many, by: [flow.dst.ip.addr], measure: bits_per_second, over: 5s, when: '> 1M for 8s', clear: '< 1M for 2s', act: [noc]}\n  - {name: nets, by: [flow.dst.ip.addr/24], measure: bits_per_second, over: 5s, when: '> 1M'}\n`,
  );
}

function flood(rig: WatchRig, destinations: readonly string[], seconds = 1): void {
  for (let i = 0; i < seconds; i++) {
    rig.take(destinations.map((dst) => ({ src: "192.0.2.7", dst, bytes: 1_000_000 })));
    rig.pass(1);
  }
}

/** What happened to the alerts of the first rule since the last call. */
function changes(rig: WatchRig): string[] {
  return rig.news
    .splice(0)
    .filter(({ alert }) => alert.rule === "many")
    .map(({ change, alert }) => `${change} ${alert.key["flow.dst.ip.addr"]}`);
}

test("each thing that happens to an alert is told once, without its evidence", async (t) => {
  const rig = await start(t);
  flood(rig, ["10.0.0.1", "10.0.0.2"]);
  assert.deepEqual(changes(rig), ["pending 10.0.0.1", "pending 10.0.0.2"]);
  flood(rig, ["10.0.0.1", "10.0.0.2"], 9);
  assert.deepEqual(changes(rig), ["firing 10.0.0.1", "firing 10.0.0.2"]);
  rig.pass(12);
  assert.deepEqual(changes(rig), ["cleared 10.0.0.1", "cleared 10.0.0.2"]);
  flood(rig, ["10.0.0.3"], 10);
  assert.deepEqual(changes(rig), ["pending 10.0.0.3", "firing 10.0.0.3"]);

  const alert = rig.in("firing").find(({ rule }) => rule === "many");
  assert.ok(alert !== undefined);
  assert.ok(rig.watch.alerting.acknowledge(alert.id, "alice"));
  rig.watch.alerting.acknowledge(alert.id, "bob");
  assert.deepEqual(changes(rig), ["acknowledged 10.0.0.3"]);
  const silence = rig.watch.alerting.silence("alice", { filter: "flow.dst.ip.addr = 10.0.0.3", for: "1h" });
  assert.ok(!("refused" in silence));
  const [event] = rig.news;
  assert.deepEqual([event?.change, event?.alert.silence], ["silenced", { id: silence.id, until: silence.until }]);
  assert.ok(event !== undefined && !("top" in event.alert) && !("series" in event.alert));
  changes(rig);
  rig.watch.alerting.endSilence(silence.id, "alice");
  rig.watch.alerting.snooze(alert.id, "alice", { for: "2s" });
  assert.deepEqual(changes(rig), ["resumed 10.0.0.3", "snoozed 10.0.0.3"]);
  flood(rig, ["10.0.0.3"], 3);
  assert.deepEqual(changes(rig), ["resumed 10.0.0.3"]);
});

test("a pending alert whose condition holds no more is gone", async (t) => {
  const rig = await start(t);
  rig.take([{ dst: "10.0.0.1", bytes: 700_000 }]);
  rig.pass(1);
  assert.deepEqual(changes(rig), ["pending 10.0.0.1"]);
  // The window goes on without it before eight seconds have passed above the limit.
  rig.jump(6);
  rig.pass(1);
  assert.deepEqual(changes(rig), ["gone 10.0.0.1"]);
});

test("alerts are asked for by state, rule, filter, time and what they name", async (t) => {
  const rig = await start(t);
  flood(rig, ["10.0.0.1", "10.0.0.2", "10.9.9.9"], 10);
  const found = (query: Parameters<typeof rig.watch.alerting.find>[0]): string[] => {
    const list = rig.watch.alerting.find(query);
    assert.ok(!("refused" in list));
    assert.equal(list.matched >= list.alerts.length, true);
    return list.alerts.map(({ key }) => Object.values(key).join(" ")).toSorted();
  };
  assert.deepEqual(found({ rule: "many" }), ["10.0.0.1", "10.0.0.2", "10.9.9.9"]);
  assert.deepEqual(found({ rule: "many", limit: 1 }).length, 1);
  assert.deepEqual(found({ states: ["cleared"] }), []);
  assert.deepEqual(found({ filter: 'flow.dst.ip.addr in 10.0.0.0/16 and alert.rule.name = "many"' }), [
    "10.0.0.1",
    "10.0.0.2",
  ]);
  assert.deepEqual(found({ names: "10.0.0.2" }), ["10.0.0.0/24", "10.0.0.2"]);
  assert.deepEqual(found({ names: "10.9.0.0/16" }), ["10.9.9.0/24", "10.9.9.9"]);
  assert.equal(found({ names: "192.0.2.7" }).length, 5);
  assert.deepEqual(found({ to: rig.now() - 60_000 }), []);
  rig.pass(30);
  assert.equal(found({ from: rig.now() - 60_000 }).length, 5);
  // Those of networks end a minute later.
  assert.deepEqual(found({ from: rig.now() + 1 }), ["10.0.0.0/24", "10.9.9.0/24"]);

  const brief = rig.watch.alerting.find({ hasEvidence: false });
  assert.ok(!("refused" in brief) && brief.alerts.every((alert) => !("top" in alert) && !("series" in alert)));
  const near = rig.watch.alerting.find({ filter: "flow.dst.ip.adr = 10.0.0.1" });
  assert.ok("refused" in near);
  const other = rig.watch.alerting.find({ filter: "flow.src.ip.addr = 10.0.0.1" });
  assert.match("refused" in other ? other.refused.join() : "", /no rule has alerts with flow.src.ip.addr, expected/);
});

test("one alert has the limit, its values up to now and what became of its notices", async (t) => {
  const rig = await start(t);
  flood(rig, ["10.0.0.1"], 10);
  const id = rig.in("firing").find(({ rule }) => rule === "many")?.id ?? "";
  await until("its notice is sent", () => rig.watch.alert(id)?.notices[0]?.state === "sent");
  const details = rig.watch.alert(id);
  assert.deepEqual(details?.notices, [{ action: "noc", kind: "firing", state: "sent", at: rig.now() }]);
  assert.equal(details.alert.limit, 1_000_000);
  assert.equal(details.recent?.stepMs, details.alert.series.stepMs);
  assert.ok(Math.max(...(details.recent?.values ?? [])) > 1_000_000);
  rig.pass(30);
  const ended = rig.watch.alert(id);
  assert.deepEqual([ended?.alert.state, ended?.recent], ["cleared", undefined]);
  assert.equal(rig.watch.alert("none"), undefined);
});
