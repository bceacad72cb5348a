import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ReportLetters, Reports, runsForm, SavedViews } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { MemoryStates } from "../support/memory-states.ts";
import { openSaved, openShared } from "../support/shared-states.ts";
import { until } from "../support/until.ts";

type Questions = NonNullable<ConstructorParameters<typeof ReportLetters>[0]>;
type Saved = ReturnType<SavedViews["now"]>;
type Answer = Awaited<ReturnType<Questions["query"]>>;

const ada = { name: "ada", role: "editor" } as const;
const due = Date.parse("2026-11-27T07:00:00Z");
const answer = {
  from: "2026-11-26T00:00:00.000Z",
  to: "2026-11-27T00:00:00.000Z",
  granularitySeconds: 3600,
  measure: "bits_per_second",
  when: "flowed",
  unit: "bit/s",
  dimensions: [],
  times: ["2026-11-26T00:00:00.000Z"],
  rows: [],
  others: { keys: 0, value: 0, share: 0, series: [0] },
  total: { value: 5, series: [2] },
  sampling: 1,
  complete: true,
  parts: [],
  store: "duckdb",
  elapsedMs: 1,
};

interface Sent {
  readonly member: string;
  readonly id: string;
}

/** A collector of a fleet. */
interface Member {
  readonly name: string;
  readonly views: SavedViews;
  readonly reports: Reports;
  session: string | undefined;
  /** What its receiver does. */
  receive: () => Promise<undefined>;
  /** What its Explore does. */
  ask: () => Promise<void>;
  readonly taken: string[];
  /** What it knows of all that is saved. */
  knows: (state: Saved) => Saved;
}

class World {
  readonly states = new MemoryStates();
  readonly sent: Sent[] = [];
  now = due - 3_600_000;
  /** How far its clock is ahead, milliseconds. */
  ahead = 0;
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  /** @param isAble whether it has records, and actions. */
  async join(name: string, isAble = true): Promise<Member> {
    const clock = { ...systemClock, now: () => this.now, monotonic: () => systemClock.monotonic() + this.ahead };
    const options = { states: this.states, session: () => member.session };
    const saved = await openSaved(this.#t, options);
    const runs = await openShared(this.#t, "reports", runsForm, options);
    const views = new SavedViews(saved, async () => ["ops"], { clock, metrics: createMetrics() });
    const query = async (): Promise<Answer> => {
      await member.ask();
      return answer as unknown as Answer;
    };
    const letters = new ReportLetters(isAble ? ({ query } as unknown as Questions) : undefined, () => undefined, clock);
    const post = {
      letterActions: async () => ["ops"],
      post: async ({ letter: { id } }: { readonly letter: { readonly id: string } }) => {
        await member.receive();
        this.sent.push({ member: name, id });
        return undefined;
      },
      takeBack: (id: string) => void member.taken.push(id),
    };
    const reporting = { clock, log: silentLog, metrics: createMetrics(), health: createHealth() };
    const reports = new Reports(runs, () => member.knows(views.now()), letters, isAble ? post : undefined, reporting);
    cleanUp(this.#t, () => reports.stop());
    const member: Member = {
      name,
      views,
      reports,
      session: name,
      receive: async () => undefined,
      ask: async () => {},
      taken: [],
      knows: (state) => state,
    };
    this.states.living.add(name);
    return member;
  }

  /** Its lease is over, for all; a new one is another session. */
  end(member: Member): void {
    this.states.living.delete(String(member.session));
    member.session = undefined;
  }

  async tick(...members: readonly Member[]): Promise<void> {
    await Promise.all(members.map(({ reports }) => reports.tick()));
  }

  async statesOf(member: Member): Promise<readonly string[]> {
    const { reports } = await member.reports.status(ada);
    return reports.flatMap(({ runs }) => runs.map(({ state }) => state));
  }
}

async function define({ views }: Member, ...names: readonly string[]): Promise<void> {
  await views.save({ view: { name: "Talkers" } }, ada);
  await views.save({ board: { name: "Edge", views: ["talkers"] } }, ada);
  for (const name of names)
    await views.save({ report: { name, board: "edge", schedule: "daily 07:00", actions: ["ops"] } }, ada);
}

test("each report is sent by one collector, once, however many find it due", async (t) => {
  const world = new World(t);
  const members = await Promise.all(["a", "b", "c"].map((name) => world.join(name)));
  const [a] = members;
  assert.ok(a !== undefined);
  await define(a, "One", "Two", "Three");
  await until("all know them", () => members.every(({ views }) => views.now().report.size === 3));
  world.now = due + 1000;
  await until("all are sent", async () => {
    await world.tick(...members);
    return (await world.statesOf(a)).filter((state) => state === "sent").length === 3;
  });
  await world.tick(...members);
  assert.deepEqual(
    world.sent.map(({ id }) => id.replace(/-.*/, "")).toSorted(),
    ["one", "three", "two"],
    JSON.stringify(world.sent),
  );
});

test("what a collector had when its lease ended another one sends, under the same id; the first one sends it no more", async (t) => {
  const world = new World(t);
  const [a, b] = [await world.join("a"), await world.join("b")];
  await define(a, "One");
  await until("both know it", () => b.views.now().report.size === 1);
  let goOn = (): void => {};
  a.ask = () => new Promise((resolve) => (goOn = resolve));
  world.now = due + 1000;
  await world.tick(a);
  await world.tick(b);
  assert.deepEqual(world.sent, [], "it is made by a, and b leaves it");
  world.end(a);
  await world.tick(a);
  const [id] = a.taken;
  await until("b sends it", async () => {
    await world.tick(b);
    world.ahead += 10_000;
    return world.sent.length > 0;
  });
  goOn();
  await until("it is sent", async () => (await world.statesOf(b))[0] === "sent");
  await world.tick(a, b);
  assert.deepEqual(world.sent, [{ member: "b", id }]);
});

test("what was sent while the database was away is noted when it is back, and not sent by another one", async (t) => {
  const world = new World(t);
  const [a, b] = [await world.join("a"), await world.join("b")];
  await define(a, "One");
  await until("both know it", () => b.views.now().report.size === 1);
  let isAway = false;
  let tries = 0;
  world.states.answers = async () => {
    if (!isAway) return;
    tries++;
    throw new Error("the database is away");
  };
  a.receive = async () => {
    isAway = true;
    return undefined;
  };
  world.now = due + 1000;
  await world.tick(a);
  await until("it cannot be noted", () => world.sent.length === 1 && tries > 0);
  world.end(a);
  isAway = false;
  await until("it is noted", async () => {
    await world.tick(b);
    return (await world.statesOf(b))[0] === "sent";
  });
  assert.deepEqual(
    world.sent.map(({ member }) => member),
    ["a"],
  );
});

test("a letter is taken back once the lease is over, though the database does not answer", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const world = new World(t);
  const a = await world.join("a");
  await define(a, "One");
  await a.views.save({ report: { name: "Two", board: "edge", schedule: "daily 07:01", actions: ["ops"] } }, ada);
  let isHandedOver = false;
  let goOn = (): void => {};
  a.receive = () => {
    isHandedOver = true;
    return new Promise((resolve) => (goOn = () => resolve(undefined)));
  };
  world.now = due + 1000;
  await a.reports.start();
  t.mock.timers.tick(2000);
  await until("it is handed over", () => isHandedOver);
  // The next one that is due cannot be noted.
  let goOnReading = (): void => {};
  let isAsked = false;
  world.states.answers = () => {
    isAsked = true;
    return new Promise((resolve) => (goOnReading = resolve));
  };
  world.now = due + 61_000;
  t.mock.timers.tick(2000);
  await until("the database is asked", () => isAsked);
  world.end(a);
  t.mock.timers.tick(2000);
  assert.deepEqual(
    a.taken.map((id) => id.replace(/-.*/, "")),
    ["one"],
  );
  world.states.answers = async () => {};
  goOnReading();
  goOn();
});

test("runs of reports that have gone are kept for some days, and not without a limit", async (t) => {
  const world = new World(t);
  const run = { by: "", holder: "b", state: "sent", from: due, to: due, due, deliveries: [] } as const;
  const gone = Array.from({ length: 1500 }, (_, at) => ({
    ...run,
    id: `${at}`,
    report: `gone-${Math.floor(at / 50)}`,
  }));
  await world.states.write("reports", { after: undefined, version: "1", text: runsForm.format(gone) });
  const a = await world.join("a");
  await define(a, "One");
  await a.reports.send({ id: "one" }, ada);
  const { text = "" } = await world.states.read("reports", undefined);
  const kept = runsForm.parse(text);
  assert.deepEqual([kept.length, kept[0]?.report, kept.at(-1)?.id], [1001, "one", "999"]);
});

test("who keeps no records or has no actions leaves reports to others, and after a while says what is missing", async (t) => {
  const world = new World(t);
  const [poor, rich] = [await world.join("poor", false), await world.join("rich")];
  await define(rich, "One");
  await until("both know it", () => poor.views.now().report.size === 1);
  world.now = due + 1000;
  await world.tick(poor);
  assert.deepEqual(await world.statesOf(poor), []);
  await assert.rejects(poor.reports.send({ id: "one" }, ada), /can send no reports/);
  await until("it is sent", async () => {
    await world.tick(poor, rich);
    return (await world.statesOf(rich))[0] === "sent";
  });
  assert.deepEqual(
    world.sent.map(({ member }) => member),
    ["rich"],
  );
  world.end(rich);
  world.now += 86_400_000;
  await world.tick(poor);
  assert.equal((await world.statesOf(poor)).length, 1);
  world.now += 600_000;
  await until("it says why", async () => {
    await world.tick(poor);
    const { reports } = await poor.reports.status(ada);
    return /SVC_EXPLORE_ENABLE is off/.test(reports[0]?.runs[0]?.fault ?? "");
  });
});

test("that a report was sent is not forgotten by a collector that does not know the report yet", async (t) => {
  const world = new World(t);
  const [a, b] = [await world.join("a"), await world.join("b")];
  await define(a, "One");
  await until("both know it", () => b.views.now().report.size === 1);
  world.now = due + 1000;
  await until("it is sent", async () => {
    await world.tick(a);
    return (await world.statesOf(a))[0] === "sent";
  });
  // Another one than the one that was sent is due there.
  b.knows = (state) => {
    const [report] = state.report.values();
    return { ...state, report: new Map(report && [["other", { ...report, id: "other" }]]) };
  };
  await until("the other one is sent", async () => {
    await world.tick(b);
    return world.sent.length === 2;
  });
  assert.deepEqual(await world.statesOf(a), ["sent"]);
});

test("who is no member of the fleet sends nothing, and says so", async (t) => {
  const world = new World(t);
  const a = await world.join("a");
  await define(a, "One");
  world.now = due + 1000;
  a.session = undefined;
  await world.tick(a);
  await assert.rejects(a.reports.send({ id: "one" }, ada), /not a member of its fleet/);
  // Its lease is over in the database before it knows.
  a.session = "a";
  world.states.living.delete("a");
  await world.tick(a);
  await assert.rejects(a.reports.send({ id: "one" }, ada), /not a member of its fleet/);
  assert.deepEqual([world.sent, await world.statesOf(a)], [[], []]);
});
