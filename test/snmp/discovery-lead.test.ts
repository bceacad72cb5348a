// Of several collectors that share devices, networks are searched by the one that leads.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createMetrics, Progress, silentLog, systemClock } from "../../src/base/report/index.ts";
import { NetworkDiscovery } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("a search begins by itself only on the collector that leads, and on another one once that leads", async (t) => {
  const directory = tempDirectory(t);
  const realTimeout = setTimeout;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const start = Date.now();
  let passed = 0;
  let leads = false;
  const discovery = new NetworkDiscovery({
    settings: {
      // It is not there: a search that begins fails at once, and that is seen.
      networksPath: join(directory, "networks.yml"),
      devicesDirectory: join(directory, "found"),
      intervalMs: 60_000,
      maxAddresses: 256,
      perSecond: 100,
      maxInFlight: 10,
      candidates: [],
    },
    definitions: () => undefined,
    polled: () => [],
    leads: () => leads,
    apply: () => Promise.resolve(undefined),
    clock: { ...systemClock, now: () => start + passed },
    log: silentLog,
    metrics: createMetrics(),
    progress: new Progress(systemClock),
  });
  cleanUp(t, () => discovery.stop());
  const pass = (ms: number): void => {
    passed += ms;
    t.mock.timers.tick(ms);
  };
  const settle = (): Promise<void> => new Promise((resolve) => realTimeout(resolve, 20));

  await discovery.start();
  for (const ms of [10_000, 60_000]) {
    pass(ms);
    await settle();
    assert.equal(discovery.view().lastFailure, undefined);
    assert.equal(Date.parse(discovery.view().nextRun ?? ""), start + passed + 60_000);
  }
  leads = true;
  pass(60_000);
  t.mock.timers.reset();
  await until("a search", () => discovery.view().lastFailure?.message.includes("networks.yml"));
});
