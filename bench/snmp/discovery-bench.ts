// Discovery of a /20 of loopback addresses, 200 of them agents with one of three credentials: at the usual rate, and with a rate that
// nothing reaches. The agents are in the same process, so their CPU time counts, too.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSimulatedNetwork } from "../../test/support/simulated-network.ts";
import { reportRow } from "../support/bench-report.ts";

const definitionsFolder = join(import.meta.dirname, "../../../definitions");

for (const perSecond of [500, 10_000]) {
  const folder = await mkdtemp(join(tmpdir(), "netgloss-discovery-"));
  const network = await startSimulatedNetwork(folder, { definitionsFolder, perSecond });
  try {
    const before = process.cpuUsage();
    const started = await network.discovery.run({ isDryRun: true, networks: [] });
    if (!started.ok) throw new Error(started.problems.join());
    const { durationSeconds, addresses, new: found } = await started.ended;
    const { user, system } = process.cpuUsage(before);
    if (found.length !== network.devices) throw new Error(`${found.length} devices of ${network.devices}`);
    const sent = (await network.metrics.value("netgloss_snmp_discovery_probes_total")) ?? 0;
    const what = `/20, ${perSecond} messages a second allowed`;
    reportRow({
      what: `${what}: sent`,
      value: sent / durationSeconds,
      unit: "/s",
      peer: { what: "allowed", value: perSecond },
      goal: "≤ 1",
    });
    reportRow({ what: `${what}: duration`, value: durationSeconds, unit: "s" });
    reportRow({ what: `${what}: CPU, agents included`, value: (user + system) / addresses, unit: "µs/address" });
  } finally {
    await network.close();
    await rm(folder, { recursive: true });
  }
}
