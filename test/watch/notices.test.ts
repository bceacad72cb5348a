import assert from "node:assert/strict";
import { mkdirSync, readdirSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startReceiver, startWatch, type Received, type WatchRig } from "./watch-rig.ts";

const second = 1_000_000;

/** A rule that fires for each destination at once, with actions as YAML. */
function ruled(actions: string, more = ""): string {
  return `rules:\n  - {name: many, by: [flow.dst.ip.addr], measure: bits_per_second, over: 5s, when: '> 1M', say: 'flood to {{key}}', act: [noc]}\n${more}actions:\n${actions}`;
}

/** Lets alerts of these destinations begin. */
function flood(rig: WatchRig, destinations: readonly string[]): void {
  rig.take(destinations.map((dst) => ({ dst, bytes: 10 * second })));
  rig.pass(1);
}

const hosts = (count: number): string[] => Array.from({ length: count }, (_, i) => `10.1.${i >> 8}.${i & 255}`);

interface Told {
  readonly id: string;
  readonly kind: string;
  readonly began?: number;
  readonly ended?: number;
  readonly alert: { readonly key: Record<string, string> };
}

const noticesOf = (received: readonly Received[]): Told[] =>
  received.flatMap(({ body }) => (JSON.parse(body) as { notices: Told[] }).notices);

const stateOf = (rig: WatchRig, name = "noc") => rig.watch.status().actions.find((each) => each.name === name);

describe("the file of alerts", () => {
  for (const [what, content] of [
    ["cut off", '{"version":1,"alerts":[{"id"'],
    ["of another version", '{"version":7,"alerts":[],"waiting":{}}'],
    ["of another form", '{"version":1,"alerts":{},"waiting":[]}'],
    ["no object", "null"],
  ] as const) {
    test(`one that is ${what} is set aside, said and counted, and not overwritten`, async (t) => {
      const directory = tempDirectory(t);
      const state = join(directory, "state");
      mkdirSync(state);
      writeFileSync(join(state, "alerts.json"), content);
      const rig = await startWatch(t, ruled("  noc: {webhook: {url: 'http://127.0.0.1:9'}}\n"), { directory });
      assert.match(rig.faults[0] ?? "", /alerts of the last run cannot be read: .*alerts\.json\.broken-test now/);
      assert.equal(await rig.metric("netgloss_watch_broken_files_total"), 1);
      flood(rig, ["10.0.0.9"]);
      await until("the new file", () => readdirSync(state).includes("alerts.json"));
      assert.equal(readFileSync(join(state, "alerts.json.broken-test"), "utf8"), content);
      await until("all is well", () => rig.faults.at(-1) === undefined);
    });
  }

  test("one that cannot be read stays as it is, as long as it is in the way", async (t) => {
    const directory = tempDirectory(t);
    // A folder can be read by nobody.
    mkdirSync(join(directory, "state", "alerts.json"), { recursive: true });
    const rig = await startWatch(t, ruled("  noc: {webhook: {url: 'http://127.0.0.1:9'}}\n"), { directory });
    assert.match(rig.faults[0] ?? "", /stays as it is/);
    flood(rig, ["10.0.0.9"]);
    await until("it is moved", () => readdirSync(join(directory, "state")).includes("alerts.json.broken-test"));
  });
});

describe("notices that cannot be sent", () => {
  test("those of an action that is removed are counted as dropped, the others stay", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 503;
    const noc = `  noc: {webhook: {url: '${receiver.url}'}}\n`;
    const rig = await startWatch(
      t,
      ruled(noc).replace("act: [noc]", "act: [noc, old]") + "  old: {webhook: {url: 'http://127.0.0.1:9'}}\n",
    );
    flood(rig, hosts(3));
    await rig.write(ruled(noc));
    assert.equal(await rig.metric("netgloss_watch_notices_dropped_total"), 3);
    receiver.status = 200;
    await until("the others", () => stateOf(rig)?.sent === 3);
    assert.equal(stateOf(rig)?.dropped, 0);
  });

  test("counters go on when the file is read again", async (t) => {
    const receiver = await startReceiver(t);
    const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}}\n`));
    flood(rig, hosts(2));
    await until("both", () => stateOf(rig)?.sent === 2);
    await rig.write(ruled(`  noc: {webhook: {url: '${receiver.url}', format: text}}\n`));
    assert.equal(await rig.metric("netgloss_watch_notices_sent_total"), 2);
  });

  for (const status of [400, 413, 422]) {
    test(`one that is refused with ${status} holds up no other, is set aside, and can be sent again`, async (t) => {
      const receiver = await startReceiver(t);
      receiver.refuses = (body) => (body.includes("10.1.0.7") ? status : undefined);
      const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}, ended: false}\n`));
      flood(rig, hosts(40));
      await until("the others", () => stateOf(rig)?.sent === 39);
      flood(rig, ["10.2.0.1"]);
      await until("one more", () => stateOf(rig)?.sent === 40);
      await until("it is set aside", () => stateOf(rig)?.aside === 1);
      assert.equal(stateOf(rig)?.waiting, 0);
      assert.equal(await rig.metric("netgloss_watch_notices_refused_total"), 1);
      const kept = join(rig.directory, "state", "alerts.json");
      await until(
        "it is kept",
        () => (existsSync(kept) && readFileSync(kept, "utf8").includes(`${status}`)) || (rig.pass(1), false),
      );
      receiver.refuses = () => undefined;
      assert.equal(rig.watch.alerting.notifier.resend("noc"), 1);
      await until("it, too", () => stateOf(rig)?.sent === 41);
      const ids = acceptedOf(receiver.received).map(({ id }) => id);
      assert.equal(new Set(ids).size, 41);
    });
  }

  test("a receiver that refuses everything gets it once it takes something", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 400;
    const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}}\n`));
    flood(rig, hosts(3));
    await until("some tries", () => receiver.received.length > 5);
    receiver.status = 200;
    const before = receiver.received.length;
    await until("all", () => stateOf(rig)?.sent === 3);
    assert.equal(new Set(noticesOf(receiver.received.slice(before)).map(({ id }) => id)).size, 3);
    assert.equal(stateOf(rig)?.aside, 0);
  });
});

/** What a receiver that refuses one destination has taken. */
function acceptedOf(received: readonly Received[]): Told[] {
  return received.filter(({ answered }) => answered === 200).flatMap((one) => noticesOf([one]));
}

describe("a storm", () => {
  test("of 10 000 alerts is 100 notices and a summary", async (t) => {
    // Judged when the test says so: on a busy host to judge so many each second takes the time in which a receiver has to answer.
    t.mock.timers.enable({ apis: ["setInterval"] });
    const receiver = await startReceiver(t);
    const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}, limit: 100 per 1s}\n`), {
      maxKeys: 20_000,
    });
    flood(rig, hosts(10_500));
    const { firing, pending, cleared, alerts } = rig.watch.alerting.list();
    assert.deepEqual([firing, pending, cleared, alerts.length], [10_000, 0, 0, 1000]);
    assert.equal(await rig.metric("netgloss_watch_alerts_refused_total"), 500);
    await until("the first", () => stateOf(rig)?.sent === 100);
    assert.equal(receiver.received.length, 1);
    rig.pass(1);
    await until("the summary", () => stateOf(rig)?.sent === 101);
    const summary = noticesOf(receiver.received).at(-1);
    assert.equal(summary?.kind, "summary");
    assert.deepEqual([summary?.began, summary?.ended], [9900, 0]);
    assert.equal(await rig.metric("netgloss_watch_notices_dropped_total"), 0);
    assert.equal(await rig.metric("netgloss_watch_notices_folded_total"), 9900);
  });
});

describe("when an action is told", () => {
  async function grouped(t: TestContext, options: string) {
    const receiver = await startReceiver(t);
    const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}, ${options}}\n`));
    return { receiver, rig };
  }

  test("a notice waits for others of its group", async (t) => {
    const { receiver, rig } = await grouped(t, "group: 30s");
    flood(rig, hosts(1));
    rig.pass(10);
    flood(rig, ["10.9.9.9"]);
    rig.pass(15);
    assert.equal(receiver.received.length, 0);
    rig.pass(5);
    await until("both", () => stateOf(rig)?.sent === 2);
    assert.equal(receiver.received.length, 1);
  });

  test("in quiet hours of its zone nothing is sent, and afterwards all", async (t) => {
    // The clock of the rig begins at 2027-01-15T08:00:00Z, a Friday; in Tokyo it is 17:00.
    const { receiver, rig } = await grouped(t, "quiet: ['fri 16:59-17:01'], zone: Asia/Tokyo");
    flood(rig, hosts(2));
    rig.pass(50);
    assert.equal(receiver.received.length, 0);
    rig.pass(10);
    await until("both", () => (stateOf(rig)?.sent ?? 0) >= 2);
    assert.equal(receiver.received.length, 1);
  });

  test("a receiver that fails once after quiet days gets what waited", async (t) => {
    const { receiver, rig } = await grouped(t, "quiet: ['fri-sat 00:00-24:00'], ended: false");
    receiver.status = 503;
    flood(rig, hosts(2));
    rig.jump(40 * 3600);
    await until("a failure", () => stateOf(rig)?.failures === 1);
    receiver.status = 200;
    await until("both", () => stateOf(rig)?.sent === 2);
    assert.equal(stateOf(rig)?.dropped, 0);
  });

  test("the summary of a rule holds up no notice of another one", async (t) => {
    const receiver = await startReceiver(t);
    const other =
      "  - {name: other, filter: dst.port = 53, measure: bits_per_second, over: 5s, when: '> 1M', act: [noc]}\n";
    const rig = await startWatch(t, ruled(`  noc: {webhook: {url: '${receiver.url}'}, limit: 2 per 1h}\n`, other));
    flood(rig, hosts(10));
    await until("two and no more", () => stateOf(rig)?.sent === 2 && stateOf(rig)?.waiting === 1);
    rig.take([{ dst: "10.1.0.0", port: 53, bytes: 10 * second }]);
    rig.pass(1);
    await until("the other one", () => stateOf(rig)?.sent === 3);
    assert.equal(noticesOf(receiver.received).at(-1)?.kind, "firing");
  });

  for (const why of ["silent", "quiet"] as const)
    test(`an Alertmanager hears on of an alert that is ${why} by now, or it would call it over`, async (t) => {
      const receiver = await startReceiver(t);
      const quiet = why === "quiet" ? ", quiet: ['fri 08:01-10:00']" : "";
      const rig = await startWatch(t, ruled(`  noc: {alertmanager: {url: '${receiver.url}'}${quiet}}\n`));
      flood(rig, ["10.1.0.1"]);
      await until("the first", () => stateOf(rig)?.sent === 1);
      if (why === "silent") rig.watch.alerting.silence("", { filter: "flow.dst.ip.addr in 10.1.0.0/16", for: "1h" });
      for (let i = 0; i < 59; i++) flood(rig, ["10.1.0.1"]);
      await until("again", () => stateOf(rig)?.sent === 2);
      for (let i = 0; i < 61; i++) flood(rig, ["10.1.0.1", "10.1.0.2"]);
      await until("again", () => stateOf(rig)?.sent === 3);
      assert.ok(receiver.received.every(({ body }) => !body.includes("10.1.0.2")));
    });

  test("its end is not told where that is not wanted", async (t) => {
    const { receiver, rig } = await grouped(t, "ended: false");
    flood(rig, hosts(1));
    rig.pass(200);
    assert.equal(rig.in("cleared").length, 1);
    await until("the begin", () => stateOf(rig)?.sent === 1);
    assert.deepEqual(
      noticesOf(receiver.received).map(({ kind }) => kind),
      ["firing"],
    );
  });

  test("a broken form names what is wrong", async (t) => {
    for (const [options, fault] of [
      ["quiet: ['22-7']", /quiet.*22:00-07:00/],
      ["quiet: ['fry 10:00-11:00']", /quiet/],
      ["quiet: ['mon-wed-fri 10:00-11:00']", /quiet/],
      ["zone: Mars", /zone.*Europe\/Berlin/],
      ["limit: 5", /limit.*20 per 10m/],
      ["group: 2h", /group.*0s to 1h/],
      ["alertmanager: {url: 'http://127.0.0.1'}", /expected one of webhook/],
    ] as const) {
      const { rig } = await grouped(t, options);
      assert.match(rig.faults[0] ?? "", fault, options);
    }
  });
});

describe("the format of a webhook", () => {
  for (const [format, check] of [
    [
      "slack",
      (body: string) => assert.match(body, /^\{"text":"ALERT: flood to 10\.1\.0\.0 &lt;!here&gt; @\u200bchannel"/),
    ],
    [
      "teams",
      (body: string) => assert.match(body, /"type":"TextRun","text":"ALERT: flood to 10\.1\.0\.0 <!here> @channel"/),
    ],
  ] as const)
    test(`${format}: words of others mention nobody`, async (t) => {
      const receiver = await startReceiver(t);
      const rules = ruled(`  noc: {webhook: {url: '${receiver.url}', format: ${format}}}\n`);
      const rig = await startWatch(t, rules.replace("{{key}}", "{{key}} <!here> @channel"));
      flood(rig, hosts(1));
      await until("it", () => stateOf(rig)?.sent === 1);
      check(receiver.received[0]?.body ?? "");
    });
});
