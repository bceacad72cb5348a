import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { FileState, ReportLetters, Reports, runsForm, savedForm, SavedViews } from "../../src/app/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { ExploreError } from "../../src/explore/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const ada = { name: "ada", role: "editor" } as const;
const minute = 60_000;
type Post = NonNullable<ConstructorParameters<typeof Reports>[3]>;
type Questions = NonNullable<ConstructorParameters<typeof ReportLetters>[0]>;
type Answer = Awaited<ReturnType<Questions["query"]>>;

/** Answers each question with one address, whose name is that of an attacker. */
const answer = {
  from: "2026-11-26T00:00:00.000Z",
  to: "2026-11-27T00:00:00.000Z",
  granularitySeconds: 3600,
  measure: "bits_per_second",
  when: "flowed",
  unit: "bit/s",
  dimensions: ["flow.src.ip.addr"],
  times: ["2026-11-26T00:00:00.000Z", "2026-11-26T01:00:00.000Z"],
  rows: [{ key: ["10.0.0.1"], value: 1_230_000, share: 0.9, series: [1, 2] }],
  others: { keys: 3, value: 4, share: 0.1, series: [1, 1] },
  total: { value: 5, series: [2, 3] },
  sampling: 1,
  complete: true,
  parts: [],
  store: "duckdb",
  elapsedMs: 1,
} as unknown as Answer;

interface Rig {
  readonly views: SavedViews;
  readonly reports: Reports;
  now: number;
  readonly sent: { action: string; id: string; subject: string; html: string; text: string; files: string[] }[];
  /** What the receivers do: throws to be asked again, a text gives up. */
  receive: () => Promise<string | undefined>;
  readonly asked: Parameters<Questions["query"]>[0][];
  /** What Explore answers. */
  answer: () => Promise<Answer>;
  /** Passes on the monotonic clock. */
  waited: number;
  readonly runs: FileState<unknown>;
}

/** @param session another one is another run of the collector. */
async function open(t: TestContext, directory: string, session: string, now: number): Promise<Rig> {
  const clock = { ...systemClock, now: () => rig.now, monotonic: () => systemClock.monotonic() + rig.waited };
  const metrics = createMetrics();
  const around = { io: nodeFileIo, clock, log: silentLog };
  const saved = new FileState("saved views", `${directory}/views.json`, savedForm, session, around);
  const runs = new FileState("runs", `${directory}/reports.json`, runsForm, session, around);
  await saved.start();
  await runs.start();
  const views = new SavedViews(saved, async () => ["ops"], { clock, metrics });
  const questions = { query: async (query: (typeof rig.asked)[number]) => (rig.asked.push(query), rig.answer()) };
  const letters = new ReportLetters(questions as unknown as Questions, () => "<web>", clock);
  const post: Post = {
    letterActions: async () => ["ops"],
    async post({ action, letter }) {
      const fault = await rig.receive();
      const { id, subject, html, text, files } = letter;
      if (fault === undefined) rig.sent.push({ action, id, subject, html, text, files: files.map(({ name }) => name) });
      return fault;
    },
    takeBack() {},
  };
  const reports = new Reports(runs, () => views.now(), letters, post, {
    clock,
    log: silentLog,
    metrics,
    health: createHealth(),
  });
  const rig: Rig = {
    views,
    reports,
    now,
    sent: [],
    receive: async () => undefined,
    asked: [],
    answer: async () => answer,
    waited: 0,
    runs,
  };
  cleanUp(t, () => reports.stop());
  return rig;
}

/** Ticks until nothing waits. */
async function settle(rig: Rig): Promise<void> {
  await until("all are sent", async () => {
    await rig.reports.tick();
    return (await rig.reports.status(ada)).reports.every(({ runs }) => runs.every(({ state }) => state !== "waiting"));
  });
}

const at = (text: string): number => Date.parse(text);

async function define(rig: Rig, change: object = {}): Promise<void> {
  const view = { name: "Talkers", dimensions: ["flow.src.ip.addr"], filter: "dst.port = 1 or dst.port = 2 # the two" };
  await rig.views.save({ view }, ada);
  await rig.views.save({ board: { name: "Edge", views: ["talkers"], filter: "proto = tcp # alone" } }, ada);
  const report = { name: "Morning", board: "edge", schedule: "daily 07:00", zone: "Europe/Berlin", actions: ["ops"] };
  await rig.views.save({ report: { ...report, ...change } }, ada);
}

test("a report is sent once when it is due, of its period, by both filters, with names that are escaped", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T12:00:00Z"));
  await define(rig);
  await settle(rig);
  assert.equal(rig.sent.length, 0, "what is new is not due for before");
  rig.now = at("2026-11-27T05:59:59Z");
  await settle(rig);
  assert.equal(rig.sent.length, 0);
  for (let tick = 0; tick < 5; tick++) {
    rig.now = at("2026-11-27T06:00:00Z") + tick * 2000;
    await settle(rig);
  }
  assert.equal(rig.sent.length, 1);
  const [query] = rig.asked;
  assert.deepEqual([query?.from, query?.to], [at("2026-11-25T23:00:00Z"), at("2026-11-26T23:00:00Z")]);
  assert.equal(query?.filter?.kind, "and", "comments end with their lines");
  const [letter] = rig.sent;
  assert.equal(letter?.subject, "Morning: 2026-11-26, Europe/Berlin");
  assert.equal(letter.id, "morning-20261127T0600-one");
  assert.deepEqual(letter.files, ["report.html", "talkers.csv"]);
  assert.match(letter.html, /10\.0\.0\.1 \(&lt;web&gt;\)/);
  assert.match(letter.html, /<svg[^>]*role="img"/);
  assert.match(letter.text, /10\.0\.0\.1 \(<web>\): 1\.23 Mbit\/s \(90 %\)/);
  assert.doesNotMatch(
    letter.html,
    /<script|<style|style=|https?:\/\/(?!www\.w3\.org)/,
    "nothing that a page or a mail program refuses",
  );
});

test("a receiver that fails, and a collector that ends meanwhile: it is sent once, under the same id", async (t) => {
  const directory = tempDirectory(t);
  const first = await open(t, directory, "one", at("2026-11-26T12:00:00Z"));
  await define(first);
  first.now = at("2026-11-27T06:00:01Z");
  let tries = 0;
  first.receive = async () => {
    tries++;
    throw new Error("its thread died");
  };
  await first.reports.tick();
  await until("a try", () => tries === 1);
  await until("it says why it waits", async () => {
    const [report] = (await first.reports.status(ada)).reports;
    return report?.runs[0]?.fault === "its thread died";
  });
  await first.reports.stop();
  const second = await open(t, directory, "two", at("2026-11-27T08:00:00Z"));
  await settle(second);
  assert.deepEqual(
    second.sent.map(({ id }) => id),
    ["morning-20261127T0600-one"],
  );
  const third = await open(t, directory, "three", at("2026-11-27T09:00:00Z"));
  await settle(third);
  assert.equal(third.sent.length, 0);
  const [report] = (await third.reports.status(ada)).reports;
  assert.deepEqual(
    report?.runs.map(({ state }) => state),
    ["sent"],
  );
});

test("what is given up is said and not tried again; by hand it is sent again", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T12:00:00Z"));
  await define(rig);
  rig.now = at("2026-11-27T06:00:00Z");
  rig.receive = async () => "552 too large";
  await settle(rig);
  const runsOf = async () => (await rig.reports.status(ada)).reports[0]?.runs ?? [];
  assert.deepEqual((await runsOf())[0]?.deliveries, [{ action: "ops", sentAt: undefined, fault: "552 too large" }]);
  assert.equal((await runsOf())[0]?.state, "failed");
  rig.receive = async () => undefined;
  await rig.reports.send({ id: "morning" }, ada);
  await settle(rig);
  assert.deepEqual(
    (await runsOf()).map(({ state, by }) => [state, by]),
    [
      ["sent", "ada"],
      ["failed", ""],
    ],
  );
  await assert.rejects(rig.reports.send({ id: "none" }, ada), /there is no report "none"/);
});

test("clocks that are set, and times that are missed: each due time is sent at most once, of many missed the last", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T00:30:00Z"));
  await define(rig, { schedule: "hourly", zone: "UTC", period: "hour" });
  for (const time of ["01:00", "02:00", "01:00", "01:59", "02:00", "02:01", "09:30", "09:30", "04:00", "10:00"]) {
    rig.now = at(`2026-11-26T${time}:00Z`);
    await settle(rig);
  }
  assert.deepEqual(
    rig.sent.map(({ id }) => id.slice(-9, -4)),
    ["T0100", "T0200", "T0900", "T0400", "T1000"],
    "set back over times that were missed, one of these is sent, too",
  );
  rig.now += 30 * 86_400_000;
  await settle(rig);
  assert.equal(rig.sent.length, 6);
});

test("a paused report is sent by hand alone; a preview sends nothing; views that fail are said", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T12:00:00Z"));
  await define(rig, { paused: true });
  rig.now = at("2026-11-28T12:00:00Z");
  await settle(rig);
  const preview = await rig.reports.preview({ id: "morning" }, ada, true, new AbortController().signal);
  assert.match(preview.subject, /^Morning: 2026-11-27/);
  assert.match(preview.html, /&lt;web&gt;/);
  const plain = await rig.reports.preview({ id: "morning" }, ada, false, new AbortController().signal);
  assert.doesNotMatch(plain.html, /web/, "who may not read metadata gets no names");
  await rig.views.save({ view: { id: "talkers", name: "Talkers", role: "admin" } }, { name: "root", role: "admin" });
  const less = await rig.reports.preview({ id: "morning" }, ada, true, new AbortController().signal);
  assert.doesNotMatch(less.html, /Talkers/, "a view for a higher role than its board is not sent");
  assert.equal(rig.sent.length, 0);
  assert.equal((await rig.reports.status(ada)).reports[0]?.next, undefined);
  const without = new ReportLetters(undefined, () => undefined, systemClock);
  const { view, board, report } = rig.views.now();
  const matter = {
    report: report.get("morning")!,
    board: board.get("edge")!,
    views: [...view.values()],
    from: 0,
    to: minute,
    hasNames: true,
  };
  await assert.rejects(without.make("x", matter, new AbortController().signal), /SVC_EXPLORE_ENABLE is off/);
});

test("of a file that was changed by hand a report with an unreadable schedule or zone is not sent and says so; the others are", async (t) => {
  const directory = tempDirectory(t);
  const before = await open(t, directory, "one", at("2026-11-26T12:00:00Z"));
  await define(before);
  for (const name of ["Ill", "Lost", "Old"])
    await before.views.save({ report: { name, board: "edge", schedule: "hourly", actions: ["ops"] } }, ada);
  await before.reports.stop();
  const path = `${directory}/views.json`;
  const file = JSON.parse(readFileSync(path, "utf8")) as { reports: Record<string, unknown>[] };
  const changes: Readonly<Record<string, object>> = {
    ill: { schedule: "now and then" },
    lost: { zone: "Europe/Atlantis" },
    old: { changedAt: "yesterday" },
  };
  const reports = file.reports.map((report) => ({ ...report, ...changes[String(report["id"])] }));
  writeFileSync(path, JSON.stringify({ ...file, reports }));
  const rig = await open(t, directory, "two", at("2026-11-27T06:00:01Z"));
  await settle(rig);
  await settle(rig);
  assert.deepEqual(
    rig.sent.map(({ id }) => id),
    ["morning-20261127T0600-two"],
  );
  const status = await rig.reports.status(ada);
  const faults = Object.fromEntries(status.reports.map(({ id, fault, next }) => [id, fault ?? next]));
  assert.match(String(faults["ill"]), /schedule "now and then" cannot be read: expected `hourly :15`/);
  assert.match(String(faults["lost"]), /time zone "Europe\/Atlantis" is not known/);
  assert.match(String(faults["old"]), /time of its last change/);
  assert.equal(faults["morning"], "2026-11-28T06:00:00.000Z");
  await assert.rejects(rig.reports.send({ id: "lost" }, ada), /time zone that is not known/);
  await rig.reports.send({ id: "ill" }, ada);
  await settle(rig);
  assert.equal(rig.sent.length, 2, "by hand it needs no schedule");
});

test("while Explore cannot be asked a report waits and says so; when it can, it is sent of the same time", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T12:00:00Z"));
  await define(rig);
  rig.now = at("2026-11-27T06:00:00Z");
  rig.answer = async () => {
    throw new ExploreError("unavailable", "Explore has begun again: ask again in a little while");
  };
  const state = async () => (await rig.reports.status(ada)).reports[0]?.runs[0];
  await rig.reports.tick();
  await until("it says why it waits", async () => (await state())?.fault !== undefined);
  assert.deepEqual(
    [(await state())?.state, (await state())?.fault],
    ["waiting", "Explore has begun again: ask again in a little while"],
  );
  rig.answer = async () => answer;
  await rig.reports.tick();
  assert.equal(rig.asked.length, 1, "it is not asked again at once");
  rig.waited = 31_000;
  rig.now += 31_000;
  await settle(rig);
  assert.equal(rig.sent.length, 1);
  assert.deepEqual([rig.asked[0]?.from, rig.asked[0]?.to], [rig.asked[1]?.from, rig.asked[1]?.to]);
  assert.deepEqual([(await state())?.state, (await state())?.fault], ["sent", undefined]);
});

test("thirty letters are in memory at a time, and ten of a report wait; the others follow when they are sent", async (t) => {
  const rig = await open(t, tempDirectory(t), "one", at("2026-11-26T12:00:00Z"));
  await define(rig);
  for (let more = 0; more < 33; more++)
    await rig.views.save(
      { report: { name: `More ${more}`, board: "edge", schedule: "hourly", zone: "UTC", actions: ["ops"] } },
      ada,
    );
  rig.now = at("2026-11-26T13:00:00Z");
  const held: ((fault: undefined) => void)[] = [];
  rig.receive = () => new Promise((resolve) => held.push(resolve));
  for (let tick = 0; tick < 5; tick++) await rig.reports.tick();
  await until("thirty are being sent", () => held.length === 30);
  await rig.reports.tick();
  assert.equal(held.length, 30);
  for (const release of held.splice(0)) release(undefined);
  await until("the rest is being sent", async () => {
    await rig.reports.tick();
    return held.length === 3;
  });
  for (const release of held) release(undefined);
  await settle(rig);
  assert.equal(new Set(rig.sent.map(({ id }) => id)).size, 33);
  assert.equal(rig.sent.length, 33);
  rig.receive = () => new Promise(() => {});
  const sendNow = async (): Promise<void> => {
    rig.now++;
    await rig.reports.send({ id: "morning" }, ada);
  };
  for (let turn = 0; turn < 10; turn++) await sendNow();
  await assert.rejects(sendNow(), /10 of this report wait already/);
});
