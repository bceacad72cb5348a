// 100 devices that are endless, slow or lying and 2 000 good ones, each polled once a minute: memory of the collector, and polls
// of the good ones that were begun of those due.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { limitHeapGrowth } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { classesOf, hostileLayout } from "./fleet-layout.ts";
import type { FleetStatus } from "./fleet-process.ts";

const seconds = Number(process.env["SECONDS"] ?? 240);
const classes = classesOf(hostileLayout);
const isGood = (i: number): boolean => classes[i]?.endsWith("interfaces") === true;
const directory = await mkdtemp(join(tmpdir(), "netgloss-hostile-"));
const fleet = startHelper("snmp/fleet-process.js", ["hostile"]);
const { addresses, port } = await fleet.ask<FleetStatus>({});
await mkdir(join(directory, "devices"));
const intervals = "{dynamic: 60, active: 60, stable: 60, immutable: 60}";
await writeFile(
  join(directory, "devices/fleet.yml"),
  addresses
    .map((ip, i) => `d${i}: {ip: ${ip}, port: ${port}, communities: [public], poll_intervals: ${intervals}}\n`)
    .join(""),
);
limitHeapGrowth();
const metrics = createMetrics();
const snmp = new Snmp({
  paths: {
    ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")),
    devices: [join(directory, "devices")],
  },
  persistDirectory: "",
  enricher: { enrich() {} },
  sink: { write() {} },
  clock: systemClock,
  log: silentLog,
  metrics,
  health: createHealth(),
  keepsReadings: true,
  addsRates: true,
});

async function sumOfGood(name: string): Promise<number> {
  const text = await metrics.render();
  const values = new Map<string, number>();
  for (const match of text.matchAll(new RegExp(`^netgloss_snmp_device_${name}\\{device="([^"]+)"\\} (.+)$`, "gm")))
    values.set(match[1] as string, Number(match[2]));
  return addresses.reduce((sum, ip, i) => sum + (isGood(i) ? (values.get(`${ip}:${port}`) ?? 0) : 0), 0);
}

const sumOfAll = async (name: string): Promise<number> => {
  const text = await metrics.render();
  return [...text.matchAll(new RegExp(`^netgloss_snmp_device_${name}\\{[^}]*\\} (.+)$`, "gm"))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
};

let most = 0;
const memory = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, 200);
const loop = monitorEventLoopDelay({ resolution: 1 });
try {
  await snmp.start();
  const good = classes.filter((_, i) => isGood(i)).length;
  for (const start = performance.now(); ; await sleep(1000)) {
    if (((await metrics.value("netgloss_snmp_devices", { state: "up" })) ?? 0) >= good) break;
    if (performance.now() - start > 300_000) throw new Error("the good devices were not discovered within 5 minutes");
  }
  await sleep(5000);
  const [polls, skipped] = [await sumOfGood("polls_total"), await sumOfGood("polls_skipped_total")];
  const cpu = process.cpuUsage();
  loop.enable();
  const start = performance.now();
  await sleep(1000 * seconds);
  const elapsed = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const [begun, missed] = [
    (await sumOfGood("polls_total")) - polls,
    (await sumOfGood("polls_skipped_total")) - skipped,
  ];
  reportRow({ what: "memory (RSS) of the collector, at most", value: most / 1e6, unit: "MB", goal: "≤ 600" });
  reportRow({ what: "polls of 2 000 good devices begun", value: begun, unit: "polls" });
  reportRow({ what: "  missed", value: missed, unit: "polls", goal: "0" });
  reportRow({ what: "tables cut", value: await sumOfAll("tables_cut_total"), unit: "tables" });
  reportRow({ what: "CPU", value: ((user + system) / 1e6 / elapsed) * 100, unit: "% of a core" });
  reportRow({ what: "event loop held at most", value: loop.max / 1e6, unit: "ms", goal: "≤ 50" });
} finally {
  clearInterval(memory);
  await snmp.stop();
  await fleet.end();
  await rm(directory, { recursive: true });
}
