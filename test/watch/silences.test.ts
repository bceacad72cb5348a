import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { startReceiver, startWatch, type TestReceiver, type WatchRig } from "./watch-rig.ts";

async function start(t: TestContext, directory?: string): Promise<{ rig: WatchRig; receiver: TestReceiver }> {
  const receiver = await startReceiver(t);
  const rules = `rules:\n  - {name: many, by: [flow.dst.ip.addr, flow.dst.l4.port.id], measure: bits_per_second, over: 5s, when: '> 1M', act: [noc]}\nactions:\n  noc: {webhook: {url: '${receiver.url}'}}\n`;
  const rig = await startWatch(t, rules, directory === undefined ? {} : { directory });
  return { rig, receiver };
}

function flood(rig: WatchRig, destinations: readonly string[], seconds = 1): void {
  for (let i = 0; i < seconds; i++) {
    rig.take(destinations.map((dst) => ({ dst, bytes: 1_000_000 })));
    rig.pass(1);
  }
}

/** What was told: kinds and destinations. */
const told = ({ received }: TestReceiver): string[] =>
  received.flatMap(({ body }) =>
    (JSON.parse(body) as { notices: { kind: string; alert: { key: Record<string, string> } }[] }).notices.map(
      ({ kind, alert }) => `${kind} ${alert.key["flow.dst.ip.addr"]}`,
    ),
  );

test("a silence holds back what it names, and tells of it when it is over and the alert is not", async (t) => {
  const { rig, receiver } = await start(t);
  const made = rig.watch.alerting.silence("alice", {
    filter: "flow.dst.ip.addr in 10.0.0.0/24 and dst.port = 443",
    for: "30s",
    comment: "moving",
  });
  assert.ok(!("refused" in made));
  assert.deepEqual([made.by, made.comment, made.until - made.from], ["alice", "moving", 30_000]);
  flood(rig, ["10.0.0.1", "10.0.1.1"], 20);
  await until("the other", () => told(receiver).length === 1);
  assert.deepEqual(told(receiver), ["firing 10.0.1.1"]);
  assert.equal(rig.records.length, 2);
  const silenced = rig.watch.alerting.list().alerts.find(({ silence }) => silence !== undefined);
  assert.deepEqual([silenced?.key["flow.dst.ip.addr"], silenced?.silence?.id], ["10.0.0.1", made.id]);
  flood(rig, ["10.0.0.1", "10.0.1.1"], 11);
  await until("it, too", () => told(receiver).length === 2);
  assert.equal(told(receiver)[1], "firing 10.0.0.1");
});

test("an alert that begins and ends in a silence is told to nobody; one that began before is told to have ended", async (t) => {
  const { rig, receiver } = await start(t);
  flood(rig, ["10.0.0.1"], 3);
  await until("the first", () => told(receiver).length === 1);
  rig.watch.alerting.silence("", { filter: 'alert.rule.name = "many"', for: "10m" });
  flood(rig, ["10.0.0.2"], 3);
  rig.pass(200);
  assert.equal(rig.in("cleared").length, 2);
  await until("its end", () => told(receiver).length === 2);
  assert.deepEqual(told(receiver), ["firing 10.0.0.1", "cleared 10.0.0.1"]);
});

test("a silence that begins later, is ended early, and outlives a restart", async (t) => {
  const { rig, receiver } = await start(t);
  const from = new Date(rig.now() + 10_000).toISOString();
  const made = rig.watch.alerting.silence("", { filter: "flow.dst.ip.addr = 10.0.0.1", for: "1h", from });
  assert.ok(!("refused" in made));
  flood(rig, ["10.0.0.1"], 2);
  await until("before it", () => told(receiver).length === 1);
  await rig.watch.stop();
  const again = await start(t, rig.directory);
  assert.deepEqual(again.rig.watch.alerting.silences(), [made]);
  flood(again.rig, ["10.0.0.1"], 2);
  assert.equal(again.rig.watch.alerting.list().alerts[0]?.silence?.id, made.id);
  assert.equal(again.rig.watch.alerting.endSilence(made.id, "bob")?.until, again.rig.now());
  assert.equal(again.rig.watch.alerting.endSilence(made.id, "bob"), undefined);
  assert.equal(again.rig.watch.alerting.list().alerts[0]?.silence, undefined);
});

test("an alert that is snoozed is told again when it fires on", async (t) => {
  const { rig, receiver } = await start(t);
  flood(rig, ["10.0.0.1"], 2);
  await until("the first", () => told(receiver).length === 1);
  const { id = "" } = rig.in("firing")[0] ?? {};
  const snoozed = rig.watch.alerting.snooze(id, "alice", { for: "30s" });
  assert.ok(snoozed !== undefined && !("refused" in snoozed));
  assert.deepEqual(snoozed.snoozed, { by: "alice", until: rig.now() + 30_000 });
  flood(rig, ["10.0.0.1"], 29);
  assert.equal(told(receiver).length, 1);
  flood(rig, ["10.0.0.1"], 2);
  await until("again", () => told(receiver).length === 2);
  assert.equal(rig.in("firing")[0]?.snoozed, undefined);
  const ids = receiver.received.map(({ body }) => (JSON.parse(body) as { notices: { id: string }[] }).notices[0]?.id);
  assert.equal(new Set(ids).size, 2);
  assert.equal(rig.watch.alerting.snooze("none", "alice", { for: "1h" }), undefined);
});

test("a request that is wrong changes nothing and says what is wrong", async (t) => {
  const { rig } = await start(t);
  for (const [given, fault] of [
    [{}, /filter/],
    [{ filter: "flow.dst.ip.addr = 10.0.0.1" }, /for/],
    [{ filter: "flow.dst.ip.addr = 10.0.0.1", for: "500d" }, /30m, 8h or 7d, up to 366d/],
    [{ filter: "src.ip = 10.0.0.1", for: "1h" }, /no rule has alerts with flow\.src\.ip/],
    [{ filter: "flow.dst.ip.addr =", for: "1h" }, /column/],
    [{ filter: "flow.dst.ip.addr = 10.0.0.1", for: "1h", from: "2001-01-01T00:00:00Z" }, /ended before now/],
    [{ filter: "flow.dst.ip.addr = 10.0.0.1", for: "1h", why: "x" }, /unknown key/],
    [[], /a mapping/],
  ] as const) {
    const made = rig.watch.alerting.silence("", given);
    assert.ok("refused" in made, JSON.stringify(given));
    assert.match(made.refused.join("\n"), fault);
  }
  assert.deepEqual(rig.watch.alerting.silences(), []);
});
