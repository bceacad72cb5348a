import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { runComponent, SettingsError, type RunOptions } from "../../src/app/index.ts";
import { createLog, type Component } from "../../src/base/report/index.ts";

interface Run {
  readonly events: string[];
  readonly signals: EventEmitter;
  readonly exits: number[];
  /** What the clock shows. */
  readonly time: { ms: number };
  readonly logged: () => string;
  readonly code: Promise<number>;
}

function run(component: Partial<Component> = {}, options: Partial<RunOptions> = {}): Run {
  const events: string[] = [];
  const signals = new EventEmitter();
  const exits: number[] = [];
  const time = { ms: 0 };
  let text = "";
  const code = runComponent(
    {
      name: "test",
      start: async () => void events.push("start"),
      stop: async () => void events.push("stop"),
      ...component,
    },
    {
      log: createLog({ level: "info", format: "text", destination: { write: (line) => (text += line) } }),
      clock: { now: () => time.ms, monotonic: () => time.ms },
      signals,
      exit: (value) => void exits.push(value),
      started: () => void events.push("started"),
      reload: () => void events.push("reload"),
      reopen: () => void events.push("reopen"),
      ...options,
    },
  );
  return { events, signals, exits, time, logged: () => text, code };
}

for (const signal of ["SIGTERM", "SIGINT"]) {
  test(`${signal} stops it, exit code 0; what is left listens for the same request, which may come again`, async () => {
    const { events, signals, exits, time, code } = run();
    await new Promise(setImmediate);
    signals.emit("SIGHUP", "SIGHUP");
    signals.emit("SIGUSR2", "SIGUSR2");
    signals.emit(signal, signal);
    assert.equal(await code, 0);
    assert.deepEqual(events, ["start", "started", "reload", "reopen", "stop"]);
    assert.deepEqual(signals.eventNames(), ["SIGTERM", "SIGINT"]);
    signals.emit(signal, signal);
    assert.deepEqual(exits, []);
    time.ms += 500;
    signals.emit(signal, signal);
    assert.deepEqual(exits, [1]);
  });
}

test("a second signal ends the process at once, unless it is an echo of the first", async () => {
  let finish = (): void => {};
  const { signals, exits, time, code } = run({ stop: () => new Promise((resolve) => (finish = resolve)) });
  await new Promise(setImmediate);
  signals.emit("SIGTERM", "SIGTERM");
  await new Promise(setImmediate);
  time.ms = 499;
  signals.emit("SIGINT", "SIGINT");
  assert.deepEqual(exits, []);
  time.ms = 500;
  signals.emit("SIGINT", "SIGINT");
  assert.deepEqual(exits, [1]);
  finish();
  await code;
});

test("a signal during the start stops it once it has started", async () => {
  let started = (): void => {};
  const { events, signals, code } = run({ start: () => new Promise((resolve) => (started = resolve)) });
  signals.emit("SIGTERM", "SIGTERM");
  started();
  assert.equal(await code, 0);
  assert.deepEqual(events, ["stop"]);
});

test("a stop that does not end is cut off after ten seconds", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let finish = (): void => {};
  const { signals, exits, logged, code } = run({ stop: () => new Promise((resolve) => (finish = resolve)) });
  await new Promise(setImmediate);
  signals.emit("SIGTERM", "SIGTERM");
  await new Promise(setImmediate);
  t.mock.timers.tick(9_999);
  assert.deepEqual(exits, []);
  t.mock.timers.tick(1);
  assert.deepEqual(exits, [1]);
  assert.match(logged(), /not stopped in time/);
  finish();
  await code;
});

test("a start that fails is one line without a stack, exit code 1", async () => {
  const { events, logged, code } = run({ start: () => Promise.reject(new Error("listen EADDRINUSE: port 1")) });
  assert.equal(await code, 1);
  assert.match(logged(), /^\S+ ERROR cannot start error="listen EADDRINUSE: port 1"\n$/);
  assert.deepEqual(events, []);
});

test("a start that fails because of the settings is one line for each problem, exit code 78", async () => {
  const problems = ["/etc/a.yml:1:2: bad", "/etc/b.yml:3:4: worse"];
  const { logged, code } = run({ start: () => Promise.reject(new SettingsError(problems)) });
  assert.equal(await code, 78);
  assert.match(
    logged(),
    /^\S+ ERROR cannot start error="\/etc\/a.yml:1:2: bad"\n\S+ ERROR cannot start error="\/etc\/b.yml:3:4: worse"\n$/,
  );
});

for (const event of ["uncaughtException", "unhandledRejection"]) {
  test(`${event} is logged and ends the process`, async () => {
    const { signals, exits, logged, code } = run();
    await new Promise(setImmediate);
    signals.emit(event, new TypeError("a bug"));
    assert.deepEqual(exits, [1]);
    assert.match(logged(), /ERROR unexpected error, ending error="a bug" stack=\["at /);
    signals.emit("SIGTERM", "SIGTERM");
    await code;
  });
}
