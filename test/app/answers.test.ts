import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("routes that a killed collector left are withdrawn at the next start, also where it has no rules any more", async (t) => {
  const directory = tempDirectory(t);
  const [folder, said] = [join(directory, "state", "watch"), join(directory, "said")];
  mkdirSync(folder, { recursive: true });
  const script = "require('fs').appendFileSync(process.argv[1], process.argv.slice(2).join(' ') + '\\n')";
  const argv = (word: string): readonly string[] => [process.execPath, "-e", script, said, word, "{prefix}"];
  const answer = {
    id: "left",
    alert: "alert",
    rule: "flood",
    action: "rtbh",
    reason: "a flood",
    text: "all packets to 192.0.2.1/32 to 192.0.2.66",
    proposedAt: 1,
    allowed: [{ by: "ann", at: 2 }],
    speaker: { name: "edge", config: { command: { announce: argv("announce"), withdraw: argv("withdraw") } } },
  };
  const states = ["announcing", "announced", "withdrawing", "ended", "proposed"];
  const answers = Array.from(states, (state, i) => {
    const route = { kind: "blackhole", prefix: `192.0.2.${i}/32`, nextHop: "192.0.2.66", communities: [] };
    return Object.assign({}, answer, { id: state, state, routes: [route] });
  });
  const journal = join(folder, "answers.json");
  writeFileSync(journal, JSON.stringify({ version: 1, answers }));
  const settings = { SVC_STATE_DIRECTORY_PATH: join(directory, "state") };

  const careful = await startCollectorProcess({ settings });
  cleanUp(t, () => careful.end("SIGKILL"));
  const readiness = await until("it says why not", async () => {
    const text = await (await fetch(`${careful.api}/readyz`)).text();
    return text.includes("SVC_WATCH_COMMANDS_ENABLE") ? text : undefined;
  });
  assert.match(readiness, /a route is withdrawing/);
  assert.equal(existsSync(said), false);
  await careful.end("SIGTERM");

  const next = await startCollectorProcess({ settings: { ...settings, SVC_WATCH_COMMANDS_ENABLE: "true" } });
  cleanUp(t, () => next.end("SIGKILL"));
  await until("all are withdrawn", async () => (await next.metric("netgloss_watch_routes_withdrawn_total")) === 3);
  assert.deepEqual(readFileSync(said, "utf8").trim().split("\n").toSorted(), [
    "withdraw 192.0.2.0/32",
    "withdraw 192.0.2.1/32",
    "withdraw 192.0.2.2/32",
  ]);
  await until("it is written down", () => !/"state":"(announc|withdrawing)/.test(readFileSync(journal, "utf8")));
});
