// A storm of 50 000 traps a second of 200 devices: what happened to each, and what it cost. Once without a limit, once with the default
// one, under which a storm is thinned and counted.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import type { StormOrder } from "./trap-sender.ts";

const perSecond = 50_000;
const seconds = 10;

for (const [what, maxRate] of [
  ["each becomes a record", 0],
  ["100 a second of each device", 100],
] as const) {
  const metrics = createMetrics();
  let records = 0;
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write: (_lines, count) => void (records += count) },
    clock: systemClock,
    log: silentLog,
    metrics,
    health: createHealth(),
    traps: {
      address: "127.0.0.1",
      port: 0,
      tcp: false,
      credentialsDirectory: "",
      rulesPath: "",
      compileCondition: () => () => true,
      engineId: "",
      isAllowed: () => true,
      acceptsUntimely: () => false,
      maxRate,
    },
  });
  await snmp.start();
  const sender = startHelper("snmp/trap-sender.js");
  try {
    const port = snmp.trapPort() as number;
    await sender.ask({ port, perSecond: 5000, seconds: 2 } satisfies StormOrder);
    const value = async (name: string, labels = {}): Promise<number> => (await metrics.value(name, labels)) ?? 0;
    const refused = (): Promise<number> => value("netgloss_snmp_traps_refused_total", { reason: "rate" });
    const before = { records, refused: await refused() };
    const cpu = process.cpuUsage();
    const { sent } = await sender.ask<{ sent: number }>({ port, perSecond, seconds } satisfies StormOrder);
    // What waits in the socket is read first.
    for (let last = -1; last !== records; await sleep(500)) last = records;
    const { user, system } = process.cpuUsage(cpu);
    const [made, thinned] = [records - before.records, (await refused()) - before.refused];
    const dropped = await value("netgloss_snmp_traps_kernel_drops_total");
    reportRow({ what: `${what}: traps sent`, value: sent / seconds, unit: "traps/s", goal: "50 000" });
    reportRow({ what: "  records", value: made / seconds, unit: "records/s" });
    reportRow({ what: "  thinned, and counted", value: thinned / seconds, unit: "traps/s" });
    reportRow({ what: "  dropped by the kernel, and counted", value: dropped, unit: "traps", goal: "0" });
    reportRow({ what: "  unaccounted for", value: sent - made - thinned - dropped, unit: "traps", goal: "0" });
    reportRow({ what: "  CPU", value: (user + system) / sent, unit: "µs/trap" });
  } finally {
    await sender.end();
    await snmp.stop();
  }
}
