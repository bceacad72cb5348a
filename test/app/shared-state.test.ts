// What people save, shared by the collectors of a fleet; test/system/fleet-views.test.ts has the same on PostgreSQL.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Annotations, SavedViews, startsForm } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { MemoryStates } from "../support/memory-states.ts";
import { breakable, openSaved, openShared } from "../support/shared-states.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const ada = { name: "ada", role: "editor" } as const;
const bob = { name: "bob", role: "editor" } as const;
type Saved = ConstructorParameters<typeof SavedViews>[0];

function viewsOf(kept: Saved): SavedViews {
  return new SavedViews(kept, async () => [], { clock: systemClock, metrics: createMetrics() });
}

const namesOf = (views: SavedViews): readonly string[] => views.list(ada).views.map(({ name }) => name);

test("what one collector saves all have; of many who save at the same time none overwrites what another has saved", async (t) => {
  const states = new MemoryStates();
  const kept = await Promise.all([1, 2, 3].map(() => openSaved(t, { states })));
  const views = kept.map(viewsOf);
  const [one, two] = views;
  assert.ok(one !== undefined && two !== undefined);
  const wanted = Array.from({ length: 30 }, (_, at) => `view ${String(at).padStart(2, "0")}`);
  await Promise.all(wanted.map(async (name, at) => views[at % 3]?.save({ view: { name } }, ada)));
  await until("all have all", () => views.every((each) => namesOf(each).length === wanted.length));
  for (const each of views) assert.deepEqual(namesOf(each), wanted);
  const numbers = one.changes(ada).changes.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    wanted.map((_, at) => wanted.length - at),
  );

  // Both have seen revision 1.
  const change = (who: typeof ada | typeof bob, filter: string) => ({
    view: { id: "view-00", name: `of ${who.name}`, filter },
    revision: 1,
  });
  const both = await Promise.allSettled([
    one.save(change(ada, "proto = tcp"), ada),
    two.save(change(bob, "proto = udp"), bob),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  const refused = both.find((each) => each.status === "rejected");
  assert.match(String(refused?.reason), /somebody else has changed it; revision 2 is there/);
});

test("while the database is away changes are refused and say why, and what it said last is shown, also after a restart", async (t) => {
  const directory = tempDirectory(t);
  const states = breakable(new MemoryStates());
  const health = createHealth();
  const kept = await openSaved(t, { states, directory, health });
  const views = viewsOf(kept);
  await views.save({ view: { name: "before" } }, ada);
  assert.equal(views.list(ada).problem, undefined);
  states.isAway = true;
  await assert.rejects(views.save({ view: { name: "refused" } }, ada), {
    message: /it could not be written, and nothing has changed: the database is away/,
  });
  assert.deepEqual([namesOf(views), views.list(ada).problem, kept.failures], [["before"], "the database is away", 1]);
  const isIll = () => health.checks().some(({ degraded, detail }) => degraded === true && /is away/.test(detail ?? ""));
  assert.ok(isIll());
  states.isAway = false;
  await until("it is read again", () => views.list(ada).problem === undefined);
  states.isAway = true;
  await assert.rejects(views.save({ view: { name: "refused" } }, ada));
  await kept.stop();

  const again = viewsOf(await openSaved(t, { states, directory, health }));
  assert.deepEqual([namesOf(again), again.list(ada).problem], [["before"], "the database is away"]);
  states.isAway = false;
  await until("it is back", () => again.list(ada).problem === undefined);
  assert.ok(!isIll());
  await again.save({ view: { name: "after" } }, ada);
  assert.deepEqual(namesOf(again), ["after", "before"]);
});

test("that the database has gone away is said though nobody changes anything", async (t) => {
  const states = breakable(new MemoryStates());
  const views = viewsOf(await openSaved(t, { states }));
  states.isAway = true;
  await until("it is said", () => views.list(ada).problem === "the database is away");
  states.isAway = false;
  await until("it is back", () => views.list(ada).problem === undefined);
});

test("a write whose answer was lost is found out; where that cannot be, it is said", async (t) => {
  const inner = new MemoryStates();
  const states = breakable(inner);
  let broken: "before" | "after" | "for good" | undefined;
  const write: typeof states.write = async (name, given) => {
    if (broken === undefined) return states.write(name, given);
    if (broken !== "before") await inner.write(name, given);
    states.isAway = broken === "for good";
    broken = undefined;
    throw new Error("the connection broke");
  };
  const views = viewsOf(
    await openSaved(t, { states: { ...states, read: (...given) => states.read(...given), write } }),
  );
  broken = "after";
  await views.save({ view: { name: "was written" }, revision: 0 }, ada);
  broken = "before";
  await assert.rejects(views.save({ view: { name: "was not" } }, ada), /nothing has changed: the connection broke/);
  assert.deepEqual(namesOf(views), ["was written"]);
  broken = "for good";
  await assert.rejects(
    views.save({ view: { name: "may be" } }, ada),
    /look whether it has changed: the connection broke/,
  );
  states.isAway = false;
  await until("it is back", () => views.list(ada).problem === undefined);
  assert.deepEqual(namesOf(views), ["may be", "was written"]);
});

test("the first collector of a fleet brings what it had alone; what another one had stays in its file", async (t) => {
  const [first, second] = [tempDirectory(t), tempDirectory(t)];
  const alone = new MemoryStates();
  for (const [directory, name] of [
    [first, "of the first"],
    [second, "of the second"],
  ] as const) {
    const kept = await openSaved(t, { states: alone, directory });
    await viewsOf(kept).save({ view: { id: "same", name } }, ada);
    await kept.stop();
    copyFileSync(join(directory, "fleet-views.json"), join(directory, "views.json"));
    rmSync(join(directory, "fleet-views.json"));
  }
  const before = readFileSync(join(second, "views.json"), "utf8");
  const states = new MemoryStates();
  const one = viewsOf(await openSaved(t, { states, directory: first }));
  const two = viewsOf(await openSaved(t, { states, directory: second }));
  assert.deepEqual([namesOf(one), namesOf(two)], [["of the first"], ["of the first"]]);
  await two.save({ view: { name: "more" } }, ada);
  assert.equal(readFileSync(join(second, "views.json"), "utf8"), before);
});

test("a text that is none of this version is never overwritten", async (t) => {
  const states = new MemoryStates();
  const version = randomUUID();
  await states.write("views", { after: undefined, version, text: '{"version": 99}' });
  const views = viewsOf(await openSaved(t, { states }));
  await assert.rejects(views.save({ view: { name: "refused" } }, ada), /nothing has changed/);
  assert.notEqual(views.list(ada).problem, undefined);
  assert.deepEqual(await states.read("views", undefined), { version, text: '{"version": 99}', living: [] });
});

test("charts have the starts of all collectors, by their names", async (t) => {
  const states = new MemoryStates();
  const now = Date.now();
  const open = async (member: string, at: number): Promise<Annotations> => {
    const starts = await openShared(t, "starts", startsForm, { states });
    const clock = { ...systemClock, now: () => at };
    const sources = { starts, marks: () => [], history: undefined, alerts: undefined };
    const annotations = new Annotations(sources, { version: "1.2.3", member }, { clock, log: silentLog });
    await annotations.start();
    return annotations;
  };
  await open("fra1", now - 60_000);
  await open("fra2", now - 30_000);
  const found = await (await open("fra3", now)).find({ from: "-1h", kinds: "restart" }, ada, () => true);
  assert.deepEqual(
    found.annotations.map(({ text }) => text),
    ["fra1 started, version 1.2.3", "fra2 started, version 1.2.3"],
    "the last start is at the end of the range, which does not belong to it",
  );
});
