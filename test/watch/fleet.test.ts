// Alerts in a fleet of three collectors: each is told of once, whoever dies and whenever.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { MemoryNotes } from "../support/memory-notes.ts";
import { watchFleetByKills } from "../support/watch-fleet-kills.ts";
import { isWhole } from "../support/runs.ts";
import { until } from "../support/until.ts";
import { WatchedFleet, type FleetDatabase, type MemberOptions } from "./watch-fleet.ts";
import { startReceiver, type TestFlow, type TestReceiver } from "./watch-rig.ts";

const flood = (dst: string): readonly TestFlow[] => [{ dst, bytes: 100_000 }];
const rulesFor = (url: string): string => `actions:
  noc: {webhook: {url: "${url}"}}
rules:
  - {name: flood, by: [dst], measure: bits_per_second, over: 5s, when: '> 100k', clear: '< 50k for 3s', act: [noc]}
`;

function memoryDatabase(notes = new MemoryNotes()): FleetDatabase {
  return {
    join: ({ session }) => Promise.resolve(void notes.living.add(session)),
    end: ({ session }) => Promise.resolve(void notes.living.delete(session)),
    exchange: ({ session }, round) => Promise.resolve(structuredClone(notes.exchange(session, round))),
  };
}

interface Told {
  readonly id: string;
  readonly kind: string;
  readonly alert: { readonly id: string; readonly key: Readonly<Record<string, string>>; readonly because?: string };
}

function told({ received }: TestReceiver): readonly Told[] {
  return received
    .filter(({ answered }) => answered === 200)
    .flatMap(({ body }) => (JSON.parse(body) as { readonly notices: readonly Told[] }).notices);
}

const kindsOf = (receiver: TestReceiver): readonly string[] => told(receiver).map(({ kind }) => kind);

async function startFleet(t: TestContext): Promise<{ fleet: WatchedFleet; receiver: TestReceiver }> {
  const receiver = await startReceiver(t);
  const fleet = new WatchedFleet(t, rulesFor(receiver.url), memoryDatabase());
  for (const name of ["a", "b", "c"]) await fleet.start(name);
  await fleet.pass(1);
  return { fleet, receiver };
}

test("an alert that two collectors see is told of once, and ends when it is over for both", async (t) => {
  const { fleet, receiver } = await startFleet(t);
  await fleet.pass(3, { a: flood("192.0.2.1"), b: flood("192.0.2.1") });
  assert.deepEqual(kindsOf(receiver), ["firing"]);
  for (const name of ["a", "b", "c"]) {
    const shown = fleet.rig(name).in("firing");
    assert.deepEqual(
      shown.map(({ id }) => id),
      [told(receiver)[0]?.alert.id],
      name,
    );
  }
  await fleet.pass(6, { b: flood("192.0.2.1") });
  assert.deepEqual(kindsOf(receiver), ["firing"]);
  await fleet.pass(14);
  assert.deepEqual(kindsOf(receiver), ["firing", "cleared"]);
  assert.equal(new Set(told(receiver).map(({ alert }) => alert.id)).size, 1);
  const ended = ["a", "b", "c"].map((name) =>
    fleet
      .rig(name)
      .in("cleared")
      .map(({ id }) => id),
  );
  assert.deepEqual(
    ended,
    Array.from({ length: 3 }, () => [told(receiver)[0]?.alert.id]),
  );
  const records = ["a", "b", "c"].flatMap((name) =>
    fleet.rig(name).records.map((record) => record["alert.state.name"]),
  );
  assert.deepEqual(records, ["firing", "cleared"]);
  // The next one is another alert.
  await fleet.pass(3, { c: flood("192.0.2.1") });
  assert.deepEqual(kindsOf(receiver), ["firing", "cleared", "firing"]);
});

test("each alert is told of once, whichever exchange with the database a collector dies at", async (t) => {
  // Around the begin, and the end.
  const kills = isWhole ? Array.from({ length: 40 }, (_, i) => 4 + i) : [7, 10, 13, 34];
  await watchFleetByKills(t, memoryDatabase, kills);
});

test("what the killed holder could not send, the next one sends; what it sent is not sent again", async (t) => {
  const { fleet, receiver } = await startFleet(t);
  await fleet.pass(2, { a: flood("192.0.2.1"), b: flood("192.0.2.1") });
  receiver.refuses = () => 500;
  fleet.waits = false;
  await fleet.pass(2, { a: [...flood("192.0.2.1"), ...flood("192.0.2.2")], b: flood("192.0.2.1") });
  await until("a refusal", () => receiver.received.some(({ answered }) => answered === 500));
  fleet.die("a");
  fleet.waits = true;
  receiver.refuses = () => undefined;
  await fleet.pass(8, { b: flood("192.0.2.1") });
  assert.deepEqual(
    told(receiver).map(({ kind, alert }) => [kind, alert.key["flow.dst.ip.addr"]]),
    [
      ["firing", "192.0.2.1"],
      ["firing", "192.0.2.2"],
    ],
  );
  // Nobody sees the second one any more: it goes on for a time, and then says why it ends.
  await fleet.pass(305, { b: flood("192.0.2.1") });
  assert.deepEqual(
    told(receiver).map(({ kind, alert }) => [kind, alert.because]),
    [
      ["firing", undefined],
      ["firing", undefined],
      ["cleared", "the collectors that saw it are gone"],
    ],
  );
});

test("who has seen an alert, snoozes and silences hold on all collectors, also after a death", async (t) => {
  const { fleet, receiver } = await startFleet(t);
  const seen = { a: flood("192.0.2.1") };
  const silence = fleet.rig("b").watch.alerting.silence("ops", { filter: "dst = 192.0.2.2", for: "20s" });
  assert.ok(!("refused" in silence));
  await fleet.pass(2, seen);
  const [alert] = fleet.rig("c").in("firing");
  assert.ok(alert !== undefined);
  assert.equal(fleet.rig("c").watch.alerting.acknowledge(alert.id, "ops")?.acknowledged?.by, "ops");
  await fleet.pass(2, { a: [...flood("192.0.2.1"), ...flood("192.0.2.2")], b: flood("192.0.2.2") });
  const acknowledgedBy = (name: string): unknown =>
    fleet
      .rig(name)
      .in("firing")
      .find(({ id }) => id === alert.id)?.acknowledged?.by;
  assert.deepEqual(["a", "b", "c"].map(acknowledgedBy), ["ops", "ops", "ops"]);
  assert.deepEqual(
    ["a", "b", "c"].map((name) => fleet.rig(name).watch.alerting.silences().length),
    [1, 1, 1],
  );
  assert.equal(told(receiver).length, 1);
  fleet.die("a");
  await fleet.pass(12, { b: flood("192.0.2.2") });
  assert.equal(told(receiver).length, 1);
  // The silence is over.
  await fleet.pass(8, { b: flood("192.0.2.2") });
  assert.deepEqual(
    told(receiver).map(({ alert: { key } }) => key["flow.dst.ip.addr"]),
    ["192.0.2.1", "192.0.2.2"],
  );
});

test("without the database each tells of what it sees itself, and afterwards they have one alert again", async (t) => {
  const { fleet, receiver } = await startFleet(t);
  for (const name of ["a", "b"]) fleet.cut(name, true);
  const both = { a: flood("192.0.2.1"), b: flood("192.0.2.1") };
  await fleet.pass(3, both);
  assert.deepEqual(kindsOf(receiver), ["firing", "firing"]);
  assert.match(String(fleet.rig("a").faults.at(-1)), /not shared with the fleet/);
  for (const name of ["a", "b"]) fleet.cut(name, false);
  await fleet.pass(3, both);
  assert.equal(fleet.rig("a").faults.at(-1), undefined);
  const ids = ["a", "b", "c"].map((name) =>
    fleet
      .rig(name)
      .in("firing")
      .map(({ id }) => id),
  );
  assert.equal(new Set(ids.flat()).size, 1);
  await fleet.pass(14);
  assert.deepEqual(kindsOf(receiver), ["firing", "firing", "cleared"]);
});

/** Collectors of one router that answer by themselves. */
async function startAnswering(t: TestContext): Promise<{
  readonly fleet: WatchedFleet;
  readonly calls: string[];
  readonly table: ReadonlySet<string>;
  readonly notes: MemoryNotes;
  readonly restart: (name: string) => Promise<void>;
}> {
  const disks = new Map(["a", "b", "c"].map((name) => [name, memoryFileIo()]));
  /** Routes of one router, and who asked for what. */
  const table = new Set<string>();
  const calls: string[] = [];
  const did = (what: string, act: () => unknown): Promise<void> => {
    calls.push(what);
    act();
    return Promise.resolve();
  };
  const options = (name: string): MemberOptions => ({
    memory: disks.get(name) as MemoryFileIo,
    answers: { mode: "automatic" },
    openSpeaker: () =>
      Promise.resolve({
        announce: ({ prefix }) => did(`${name} announces`, () => table.add(prefix)),
        withdraw: ({ prefix }) => did(`${name} withdraws`, () => table.delete(prefix)),
        close() {},
      }),
  });
  const rules = `speakers:
  edge: {gobgp: {url: "http://127.0.0.1:1"}}
actions:
  rtbh: {blackhole: {speaker: edge, next_hop: 192.0.2.66}}
rules:
  - {name: flood, by: [dst], measure: bits_per_second, over: 5s, when: '> 100k', clear: '< 50k for 3s', act: [rtbh]}
`;
  const notes = new MemoryNotes();
  const fleet = new WatchedFleet(t, rules, memoryDatabase(notes));
  const restart = (name: string): Promise<void> => fleet.start(name, options(name));
  for (const name of disks.keys()) await restart(name);
  await fleet.pass(1);
  return { fleet, calls, table, notes, restart };
}

test("an answer that somebody has withdrawn is not given again by the next holder, as long as the alert fires", async (t) => {
  const { fleet, calls, table, notes, restart } = await startAnswering(t);
  const all = { a: flood("198.51.100.1"), b: flood("198.51.100.1"), c: flood("198.51.100.1") };
  await fleet.pass(4, all);
  const [answer] = fleet.rig("a").watch.answers.list();
  assert.equal(fleet.rig("a").watch.answers.withdraw(answer?.id ?? "", "ops")?.endedBy, "ops");
  await fleet.pass(2, all);
  for (const name of ["a", "b"]) {
    fleet.die(name);
    await fleet.pass(8, all);
  }
  assert.deepEqual(calls, ["a announces", "a withdraws"]);
  assert.deepEqual(
    fleet
      .rig("c")
      .watch.answers.list()
      .map(({ id, state, endedBy }) => ({ id, state, endedBy })),
    [{ id: answer?.id, state: "ended", endedBy: "ops" }],
  );
  await restart("a");
  await fleet.pass(8, all);
  await fleet.pass(14);
  assert.deepEqual([...notes.texts().keys()], []);
  // The next attack is another one.
  await fleet.pass(4, all);
  assert.equal(calls.filter((call) => call.endsWith("announces")).length, 2);
  assert.deepEqual([...table], ["198.51.100.1/32"]);
});

test("an alert has one answer, whichever exchange its holder dies at", async (t) => {
  for (const at of isWhole ? Array.from({ length: 24 }, (_, i) => 6 + i) : [9, 10, 13, 16])
    for (const is of ["before", "after"] as const) {
      const { fleet, table } = await startAnswering(t);
      const all = { a: flood("198.51.100.1"), b: flood("198.51.100.1"), c: flood("198.51.100.1") };
      fleet.kill = { at, is };
      await fleet.pass(16, all);
      const living = [...fleet.members.values()].filter(({ deadFor }) => deadFor === undefined);
      const answers = living.flatMap(({ rig }) => rig.watch.answers.list().map(({ id, state }) => ({ id, state })));
      assert.deepEqual(
        answers.map(({ state }) => state),
        ["announced"],
        `killed ${is} exchange ${at}`,
      );
      assert.deepEqual([...table], ["198.51.100.1/32"]);
    }
});

test("one collector announces; the next one takes the route over, and who left it withdraws it at its next start", async (t) => {
  const { fleet, calls, table, restart } = await startAnswering(t);
  const both = { a: flood("198.51.100.1"), b: flood("198.51.100.1") };
  await fleet.pass(4, both);
  assert.deepEqual(calls, ["a announces"]);
  assert.deepEqual([...table], ["198.51.100.1/32"]);
  fleet.die("a");
  await fleet.pass(8, both);
  assert.deepEqual([...new Set(calls)], ["a announces", "b announces"]);
  calls.length = 0;
  // It withdraws what it has left, as it does without a fleet; the holder announces it again.
  await restart("a");
  await fleet.pass(40, both);
  assert.equal(calls.filter((call) => call === "a withdraws").length, 1);
  assert.ok(!calls.includes("a announces"), String(calls));
  assert.deepEqual([...table], ["198.51.100.1/32"]);
  await fleet.pass(14);
  assert.equal(calls.at(-1), "b withdraws");
  assert.deepEqual([...table], []);
});
