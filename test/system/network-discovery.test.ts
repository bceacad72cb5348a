// Discovery of a /20 on loopback: one address in twenty is an agent, with one of three credentials.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { startSimulatedNetwork } from "../support/simulated-network.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const definitionsFolder = join(import.meta.dirname, "../../../definitions");

test("a /20 is searched within its rate: every device once, with progress, and a second time nothing is new", async (t) => {
  const folder = tempDirectory(t);
  const perSecond = 1000;
  const network = await startSimulatedNetwork(folder, { definitionsFolder, perSecond });
  cleanUp(t, () => network.close());
  const { discovery, metrics, devices, duplicates } = network;
  const progress: number[] = [];
  const timer = setInterval(() => progress.push(discovery.view().running?.probed ?? 0), 200);
  cleanUp(t, () => clearInterval(timer));

  const search = async (): Promise<
    Awaited<Extract<Awaited<ReturnType<typeof discovery.run>>, { ok: true }>["ended"]>
  > => {
    const before = (await metrics.value("netgloss_snmp_discovery_probes_total")) ?? 0;
    const started = await discovery.run({ isDryRun: false, networks: [] });
    assert.ok(started.ok, JSON.stringify(started));
    const report = await started.ended;
    const sent = ((await metrics.value("netgloss_snmp_discovery_probes_total")) ?? 0) - before;
    t.diagnostic(
      `${sent} messages in ${report.durationSeconds} s: ${Math.round(sent / report.durationSeconds)} a second`,
    );
    assert.ok(sent / report.durationSeconds <= perSecond * 1.01, "within the rate");
    assert.deepEqual([report.addresses, report.probed, report.problem], [4094, 4094, undefined]);
    return report;
  };
  const first = await search();
  assert.deepEqual([first.new.length, first.duplicates.length, first.refused.length], [devices, duplicates, 0]);
  assert.equal(new Set(first.new.map(({ name }) => name)).size, devices, "nothing twice");
  const byCredential = [1, 2, 3].map(
    (place) => first.new.filter(({ credential }) => credential.startsWith(`${place} `)).length,
  );
  assert.deepEqual(byCredential, [67, 67, 66]);
  assert.ok(first.duplicates.every(({ reason }) => reason.startsWith("the same engine id")));
  assert.equal(readdirSync(join(folder, "found")).filter((name) => name.endsWith(".yml")).length, devices);
  assert.ok(progress.length > 10 && progress.some((probed) => probed > 0 && probed < 4094));
  const running = progress.slice(0, progress.lastIndexOf(Math.max(...progress)) + 1);
  assert.deepEqual(
    running,
    [...running].sort((a, b) => a - b),
    "it never goes back",
  );

  const second = await search();
  assert.deepEqual([second.new, second.changed, second.gone], [[], [], []]);
  assert.deepEqual([second.known, second.duplicates.length], [devices, duplicates]);
});
