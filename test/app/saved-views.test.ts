import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { FileState, savedForm, SavedViews } from "../../src/app/index.ts";
import { nodeFileIo, type FileIo } from "../../src/base/file/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { faultFileIo } from "../support/fault-file-io.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

const ada = { name: "ada", role: "editor" } as const;
const root = { name: "root", role: "admin" } as const;
const guest = { name: "guest", role: "viewer" } as const;

async function open(directory: string | undefined, io: FileIo = nodeFileIo): Promise<SavedViews> {
  const path = directory && join(directory, "views/views.json");
  const around = { clock: systemClock, log: silentLog, io };
  const kept = new FileState("saved views", path, savedForm, "a run", around);
  await kept.start();
  return new SavedViews(kept, async () => ["ops"], { clock: systemClock, metrics: createMetrics() });
}

test("views and boards over the API: saved, shared, refused, told who changed them, exported and imported", async (t) => {
  const state = tempDirectory(t);
  const { run, port } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: state });
  const call = async (path: string, body?: object): Promise<{ status: number; answer: Record<string, unknown> }> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/views${path}`, {
      ...(body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
  };
  const drawn = { measure: "destinations", shape: "lines", bothWays: true, peaks: true };
  const uplink = { name: "Who fills the uplink?", filter: "dst.tag = pci", dimensions: ["flow.src.ip.addr"], ...drawn };
  const saved = await call("/save", { view: uplink, revision: 0 });
  assert.deepEqual([saved.status, saved.answer["id"], saved.answer["revision"]], [200, "who-fills-the-uplink", 1]);
  assert.equal((await call("/save", { view: uplink })).answer["id"], "who-fills-the-uplink-2");
  const board = { name: "Edge", views: ["who-fills-the-uplink"], from: "yesterday", filter: "in.if = 7" };
  assert.equal((await call("/save", { board })).status, 200);

  const refused: [path: string, body: object, message: RegExp][] = [
    ["/save", { view: { ...uplink, filter: "src >" } }, /filter:1:/],
    ["/save", { view: { ...uplink, dimensions: ["no.such"] } }, /no\.such/],
    ["/save", { view: { name: " " } }, /views need a name/],
    ["/save", { view: { ...uplink, colour: "red" } }, /there is no field "colour"/],
    ["/save", { view: { ...uplink, shape: "cake" } }, /shape must be one of stacked, lines, share, grid/],
    ["/save", { view: { ...uplink, peaks: 1 } }, /peaks must be true or false/],
    ["/save", { view: { ...uplink, measure: "peers" } }, /measure must be one of .*destination_ports/],
    ["/save", { view: uplink, board }, /not both/],
    ["/save", { board: { ...board, views: ["none"] } }, /there is no view "none"/],
    ["/save", { view: { ...uplink, id: "Who?" } }, /small letters/],
    [
      "/save",
      { view: { ...uplink, id: "who-fills-the-uplink" }, revision: 7 },
      /somebody else has changed it; revision 1/,
    ],
    ["/delete", { kind: "view", id: "who-fills-the-uplink" }, /is on the board "Edge"/],
    ["/delete", { kind: "view", id: "none" }, /there is no view "none"/],
  ];
  for (const [path, body, message] of refused) {
    const { status, answer } = await call(path, body);
    assert.ok(status >= 400 && status < 500, JSON.stringify(answer));
    assert.match(String(answer["message"]), message);
  }
  assert.equal((await call("/delete", { kind: "view", id: "who-fills-the-uplink-2", revision: 1 })).status, 200);
  const { changes } = (await call("/changes")).answer as { changes: { action: string; id: string }[] };
  assert.deepEqual(
    changes.map(({ action, id }) => `${action} ${id}`),
    [
      "deleted who-fills-the-uplink-2",
      "created edge",
      "created who-fills-the-uplink-2",
      "created who-fills-the-uplink",
    ],
  );

  // Out, changed, and in again: what is the same is no change.
  const exported = (await run("view", "export")).out;
  assert.match(exported, /filter: dst\.tag = pci/);
  assert.match(exported, /shape: lines\n +bothWays: true\n +peaks: true/);
  assert.doesNotMatch(exported, /revision/);
  const file = join(state, "views.yml");
  writeFileSync(file, exported.replace("name: Edge", "name: The edge"));
  const dry = await run("view", "import", file, "--dry-run");
  assert.equal(dry.out, "0 to be created\n1 to be changed: edge\n1 unchanged: who-fills-the-uplink\n", dry.err);
  assert.equal((await run("view", "import", file)).code, 0);
  assert.match((await run("view", "list")).out, /board +edge +The edge/);
  writeFileSync(file, "views: [{name: a, filter: 'src >'}]");
  const faulty = await run("view", "import", file);
  assert.match(faulty.err, /filter:1:/);
  assert.notEqual(faulty.code, 0);
  const levels = Array.from({ length: 12 }, (_, at) => `v${at + 1}: &v${at + 1} [${`*v${at}, `.repeat(9)}]`);
  writeFileSync(file, `v0: &v0 [name]\n${levels.join("\n")}\nviews: *v12\n`);
  const bomb = await run("view", "import", file);
  assert.match(bomb.err, /views\.yml:\d+:\d+: alias \*v\d+ makes the file too large/);

  const again = await open(state);
  assert.deepEqual(again.list(root).boards[0]?.name, "The edge");
  assert.equal(again.changes(root).changes.length, 5);
});

test("views of before they said how they are drawn are opened, and drawn as then", async (t) => {
  const directory = tempDirectory(t);
  const views = await open(directory);
  await views.save({ view: { name: "of old", shape: "grid" } }, ada);
  const path = join(directory, "views/views.json");
  const old = JSON.parse(readFileSync(path, "utf8")) as { views: Record<string, unknown>[] };
  for (const name of ["shape", "bothWays", "peaks"]) delete old.views[0]?.[name];
  writeFileSync(path, JSON.stringify(old));
  const [view] = (await open(directory)).list(ada).views;
  assert.deepEqual([view?.name, view?.shape, view?.bothWays, view?.peaks], ["of old", "stacked", false, false]);
});

test("who has not the role neither sees nor changes what is for it", async () => {
  const views = await open(undefined);
  await views.save({ view: { name: "all" } }, ada);
  await views.save({ view: { name: "secret", role: "admin" } }, root);
  assert.deepEqual(
    views.list(ada).views.map(({ name }) => name),
    ["all"],
  );
  assert.equal(views.list(root).views.length, 2);
  assert.equal(views.changes(guest).changes.length, 1);
  await assert.rejects(
    views.save({ view: { id: "secret", name: "mine" } }, ada),
    /is for the role admin, "ada" has editor/,
  );
  await assert.rejects(views.save({ view: { name: "up", role: "admin" } }, ada), /is for the role admin/);
  await assert.rejects(views.remove({ kind: "view", id: "secret" }, ada), /there is no view "secret"/);
  await assert.rejects(
    views.save({ view: { id: "secret", name: "mine" }, revision: 7 }, ada),
    /is for the role admin/,
    "its revision is not told",
  );
  await assert.rejects(views.import({ views: [{ id: "secret", name: "mine" }] }, ada), /is for the role admin/);
  await views.save({ board: { name: "Hidden", role: "admin", views: ["all"] } }, root);
  await assert.rejects(views.remove({ kind: "view", id: "all" }, ada), /is on a board for another role: take it off/);
  await assert.rejects(views.remove({ kind: "view", id: "all" }, root), /is on the board "Hidden"/);
  assert.equal(views.list(root).kept, false);
});

test("an import is bounded, and all or none", async () => {
  const views = await open(undefined);
  const many = Array.from({ length: 501 }, (_, at) => ({ name: `view ${at}` }));
  await assert.rejects(views.import({ views: many }, ada), /views must be a list of at most 500/);
  await views.save({ view: { name: "one" } }, ada);
  await assert.rejects(views.import({ views: many.slice(1) }, ada), /there are 500 views already/);
  assert.equal(views.list(ada).views.length, 1);
  const both = await Promise.allSettled(
    ["a", "b"].map(async (name) => views.save({ view: { id: "one", name }, revision: 1 }, ada)),
  );
  assert.deepEqual(
    both.map(({ status }) => status),
    ["fulfilled", "rejected"],
    "of two who change the same, the second is told",
  );
});

test("a fault at any call leaves the change undone and the file as it was, or done and in the file", async (t) => {
  for (const kind of ["before", "after", "short"] as const) {
    for (let call = 1; ; call++) {
      const directory = tempDirectory(t);
      const first = await open(directory);
      await first.save({ view: { name: "one" } }, ada);
      let isArmed = false;
      // A file whose close fails is closed all the same, which rules alone see to.
      const io = faultFileIo(nodeFileIo, (_, index) =>
        isArmed && kind === "before" && index === call - 1 ? "EIO" : undefined,
      );
      const views = await open(directory, io);
      io.arm(kind === "before" ? undefined : { call, kind, code: "EIO" });
      isArmed = true;
      const isSaved = await views.save({ view: { name: "two" } }, ada).then(
        () => true,
        () => false,
      );
      const isReached = io.calls().length >= call;
      io.arm(undefined);
      isArmed = false;
      const names = views.list(root).views.map(({ name }) => name);
      assert.deepEqual(names, isSaved ? ["one", "two"] : ["one"], `${kind} ${call}`);
      await views.save({ view: { name: "three" } }, ada);
      assert.deepEqual((await open(directory)).list(root), views.list(root), `${kind} ${call}`);
      if (!isReached) break;
    }
  }
});

test("a file that is not understood is set aside and never overwritten", async (t) => {
  const directory = tempDirectory(t);
  await (await open(directory)).save({ view: { name: "one" } }, ada);
  const path = join(directory, "views/views.json");
  const kept = readFileSync(path, "utf8");
  const broken = [
    "{",
    "null",
    '{"version": 2}',
    '{"version": 1, "views": [{}], "boards": [], "changes": []}',
    // A role that is not known would be for everybody.
    kept.replace('"role": "viewer"', '"role": "owner"'),
    kept.replace('"dimensions": []', '"dimensions": {}'),
    kept.replace(/"after": ".*"/, '"after": "{"'),
  ];
  for (const text of broken) {
    assert.notEqual(text, kept);
    writeFileSync(path, text);
    const views = await open(directory);
    assert.deepEqual(views.list(root).views, []);
    await views.save({ view: { name: "new" } }, ada);
    assert.match(readFileSync(path, "utf8"), /"new"/);
  }
  const io = faultFileIo(nodeFileIo, (call) => (call === "read" ? "EACCES" : undefined));
  const unread = await open(directory, io);
  await assert.rejects(unread.save({ view: { name: "lost" } }, ada), /nothing has changed: .*cannot be read/);
  assert.match(readFileSync(path, "utf8"), /"new"/);
});

test("what a run that was killed has left of a write is in nobody's way", async (t) => {
  const directory = tempDirectory(t);
  await (await open(directory)).save({ view: { name: "one" } }, ada);
  writeFileSync(join(directory, "views/views.json.tmp"), '{"version"');
  const views = await open(directory);
  await views.save({ view: { name: "two" } }, ada);
  const names = (await open(directory)).list(root).views.map(({ name }) => name);
  assert.deepEqual(names, ["one", "two"]);
});

test("any changes, with restarts between them, leave what a plain map would have", async (t) => {
  const name = fc.constantFrom("a", "b", "c");
  const step = fc.oneof(
    fc.record({ do: fc.constant("save" as const), id: name, limit: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ do: fc.constant("remove" as const), id: name }),
    fc.record({ do: fc.constant("restart" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const directory = tempDirectory(t);
      let views = await open(directory);
      const model = new Map<string, number>();
      let made = 0;
      for (const one of steps) {
        if (one.do === "restart") views = await open(directory);
        else if (one.do === "save") {
          await views.save({ view: { id: one.id, name: one.id, limit: one.limit } }, ada);
          model.set(one.id, one.limit);
          made++;
        } else {
          const isThere = model.delete(one.id);
          const removed = views.remove({ kind: "view", id: one.id }, ada);
          await (isThere ? removed : assert.rejects(removed));
          made += isThere ? 1 : 0;
        }
      }
      const listed = views.list(root).views.map(({ id, limit }) => [id, limit]);
      assert.deepEqual(
        listed,
        [...model].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
      assert.equal(views.changes(root).changes.length, made);
    }),
    runs(100),
  );
});

test("reports and marks are judged whole: board, schedule, zone, period, receivers, times", async () => {
  const views = await open(undefined);
  await views.save({ board: { name: "Edge" } }, ada);
  await views.save({ board: { name: "Secret", role: "admin" } }, root);
  const good = { name: "Morning", board: "edge", schedule: "daily 07:00", zone: "Europe/Berlin", actions: ["ops"] };
  const refused: [change: object, message: RegExp][] = [
    [{ board: "none" }, /there is no board "none"/],
    [{ board: "secret" }, /there is no board "secret"/],
    [{ schedule: "at noon" }, /expected `hourly :15`/],
    [{ zone: "Mars/Base" }, /expected the name of a time zone/],
    [{ period: "500d" }, /expected hour, day/],
    [{ actions: [] }, /one to 8 names/],
    [{ actions: ["osp"] }, /no action "osp".*did you mean "ops"\?/],
    [{ paused: 1 }, /true or false/],
  ];
  for (const [change, message] of refused)
    await assert.rejects(views.save({ report: { ...good, ...change } }, ada), message);
  const saved = await views.save({ report: good }, ada);
  assert.deepEqual(
    { ...saved, changedAt: "" },
    {
      ...good,
      id: "morning",
      description: "",
      role: "viewer",
      period: "day",
      paused: false,
      revision: 1,
      changedAt: "",
      changedBy: "ada",
    },
  );
  await assert.rejects(views.remove({ kind: "board", id: "edge" }, ada), /is sent by the report "Morning"/);
  for (const time of ["", "yesterday", "2026-11-27T10:00:00", "2026-13-01T00:00:00Z", "2400-01-01T00:00:00Z"])
    await assert.rejects(views.save({ mark: { name: "work", time } }, ada), /time/);
  const until = "2026-11-27T09:00:00Z";
  await assert.rejects(views.save({ mark: { name: "work", time: "2026-11-27T10:00:00Z", until } }, ada), /before time/);
  await views.save({ mark: { name: "work", time: "2026-11-27T10:00:00+02:00", until } }, ada);
  assert.equal(views.now().mark.get("work")?.time, "2026-11-27T08:00:00.000Z");
});
