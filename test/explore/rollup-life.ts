// Opens the store of a directory, and kills itself at a statement of the rollups that it makes: `rollup-life.js DIRECTORY NOW STATEMENT MILLISECONDS`.
import { DuckDBConnection } from "@duckdb/node-api";
import { setTimeout as wait } from "node:timers/promises";
import { configOf, newExplore } from "./explore-fixture.ts";

const [directory = "", now, statement, milliseconds] = process.argv.slice(2);
const prototype = DuckDBConnection.prototype;
// oxlint-disable-next-line typescript/unbound-method
const run = prototype.run;
let seen = -1;
prototype.run = function (this: DuckDBConnection, ...given: Parameters<typeof run>): ReturnType<typeof run> {
  const running = run.apply(this, given);
  if (seen >= 0 || given[0] === "BEGIN TRANSACTION") seen++;
  if (seen === Number(statement)) {
    // The statement is under way in another thread; this one waits, so that none begins after it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(milliseconds));
    process.kill(process.pid, "SIGKILL");
  }
  return running;
};
const rollups = { maxDays: 90, maxBytes: 2 ** 30, fields: [] };
const { explore } = newExplore(configOf({ directory, maxHours: 200, rollups }), { clockNow: () => Number(now) });
await explore.start();
const end = performance.now() + 30_000;
while (performance.now() < end) {
  await explore.flush();
  await wait(10);
}
await explore.stop();
