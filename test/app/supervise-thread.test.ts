import assert from "node:assert/strict";
import { test } from "node:test";
import { startThread, SupervisedThread } from "../../src/app/threads/thread.ts";
import { silentLog, type Log } from "../../src/base/report/index.ts";
import { until } from "../support/until.ts";

const door = new URL("../../src/app/threads/thread.js", import.meta.url).href;
const entry = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { serveThread, postNote, threadLog } from ${JSON.stringify(door)};
    let count = 0;
    serveThread({
      begin: (failing) => { if (failing) throw new Error("cannot begin"); },
      count: () => ++count,
      twice: (value) => ({ value: [value, value] }),
      note: (value) => postNote(value),
      log: () => threadLog("info").info({ a: 1 }, "said"),
      die: () => { setImmediate(() => { throw new Error("a bug"); }); },
      hang: () => new Promise(() => {}),
    });`)}`,
);

function supervised(options: { failing?: () => boolean; log?: Log; onNote?: (note: unknown) => void } = {}) {
  const changes: boolean[] = [];
  const supervision = new SupervisedThread({
    make: (onDeath) =>
      startThread({
        name: "t",
        entry,
        data: {},
        log: options.log ?? silentLog,
        onDeath,
        onNote: options.onNote ?? (() => {}),
      }),
    begin: (thread) => thread.call("begin", options.failing?.() ?? false),
    onChange: (isAlive) => changes.push(isAlive),
    log: silentLog,
  });
  return { supervision, changes };
}

test("calls are answered, notes and log lines arrive, errors come back to the caller", async () => {
  const notes: unknown[] = [];
  const lines: unknown[] = [];
  const log = { ...silentLog, info: (fields: object, message: string) => void lines.push([fields, message]) };
  const { supervision } = supervised({ log, onNote: (note) => notes.push(note) });
  await supervision.start();
  const thread = supervision.thread();
  assert.ok(thread !== undefined);
  assert.deepEqual(await thread.call("twice", new Map([[1, 2n]])), { value: [new Map([[1, 2n]]), new Map([[1, 2n]])] });
  thread.post("note", "first");
  await thread.call("note", "second");
  await thread.call("log");
  assert.deepEqual(notes, ["first", "second"]);
  assert.deepEqual(lines, [[{ a: 1 }, "said"]]);
  await assert.rejects(thread.call("nothing"), /asked for nothing/);
  assert.equal(await thread.call("count"), 1);
  await supervision.stop(() => thread.call("count"), 1000);
  assert.equal(supervision.thread(), undefined);
});

test("a thread that dies is started again, calls that it did not answer fail", async () => {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, message) => void errors.push(message) };
  const { supervision, changes } = supervised({ log });
  await supervision.start();
  for (let round = 1; round <= 2; round++) {
    const thread = supervision.thread();
    assert.ok(thread !== undefined);
    assert.equal(await thread.call("count"), 1, "it is a fresh one");
    const hanging = assert.rejects(thread.call("hang"), /a bug/);
    thread.post("die");
    await hanging;
    await assert.rejects(thread.call("count"), /a bug/);
    await until("another thread", () => supervision.thread() !== undefined);
  }
  assert.deepEqual(changes, [false, true, false, true]);
  assert.deepEqual(errors, ["a thread has ended unexpectedly", "a thread has ended unexpectedly"]);
  await supervision.stop(async () => {}, 1000);
});

test("what fails the first start is thrown; a later one is tried until it works", async () => {
  await assert.rejects(supervised({ failing: () => true }).supervision.start(), /cannot begin/);
  let begun = 0;
  const { supervision, changes } = supervised({ failing: () => ++begun === 2 });
  await supervision.start();
  supervision.thread()?.post("die");
  await until("another thread", () => changes.length === 2);
  assert.equal(begun, 3);
  await supervision.stop(async () => {}, 1000);
});

test("a stop does not wait for a thread that never finishes", async () => {
  const { supervision } = supervised();
  await supervision.start();
  await supervision.stop((thread) => thread.call("hang"), 20);
  assert.equal(supervision.thread(), undefined);
});
