// 2 000 simulated devices in another process, polled once a minute with our own definitions; ten are slow and ten do not
// answer. The collector is a process of its own, too, so that nothing but its own work holds it up. Two minutes are measured, with
// a scrape of the metrics by HTTP every 15 s: polls begun of those due, how late they began, what they cost, how long the event
// loop was held at most, by a scrape, too, and the memory of it all. With `many` as the argument: 10 000 devices, polled every five
// minutes. With `short`: a fifth of the devices at a fifth of the interval, which is as many polls a second, in less than a minute;
// for trying out a change.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import type { CollectorFigures, CollectorRequest } from "./collector-process.ts";
import { classesOf, fleetLayout, interfacesOf, manyLayout, shortLayout } from "./fleet-layout.ts";
import type { FleetStatus } from "./fleet-process.ts";

const form = process.argv[2] ?? "whole";
const forms = {
  whole: { layout: fleetLayout, interval: 60, measured: 120, scrapeEvery: 15 },
  many: { layout: manyLayout, interval: 300, measured: 150, scrapeEvery: 15 },
  short: { layout: shortLayout, interval: 12, measured: 36, scrapeEvery: 6 },
};
if (!(form in forms)) throw new Error(`no such form: ${form}`);
const isMany = form === "many";
const { layout, interval, measured, scrapeEvery } = forms[form as keyof typeof forms];
const deviceClasses = classesOf(layout);
const types = ["dynamic", "active", "stable", "immutable"];

const directory = await mkdtemp(join(tmpdir(), "netgloss-poller-"));
const fleet = startHelper("snmp/fleet-process.js", [form]);
const { addresses, port } = await fleet.ask<FleetStatus>({});
await mkdir(join(directory, "devices"));
await writeFile(
  join(directory, "devices/fleet.yml"),
  addresses
    .map(
      (ip, i) =>
        `device-${i}:\n  ip: ${ip}\n  port: ${port}\n  communities: [public]\n  poll_interval: ${interval}\n` +
        `  poll_intervals: {${types.map((type) => `${type}: ${interval}`).join(", ")}}\n`,
    )
    .join(""),
);
const collector = startHelper("snmp/collector-process.js");
const ask = <T>(request: CollectorRequest): Promise<T> => collector.ask<T>(request);

/** Series of one name in what a scrape gave: the value by device. */
function readings(text: string, name: string): number[] {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const match = line.startsWith(name) ? /\{device="([^"]+)"\} (.+)$/.exec(line) : undefined;
    if (match?.[1] !== undefined) values.set(match[1], Number(match[2]));
  }
  return addresses.map((ip) => values.get(`${ip}:${port}`) ?? 0);
}

const names = ["polls_total", "polls_skipped_total", "probes_total", "requests_total", "timeouts_total"] as const;
type Figures = Readonly<Record<(typeof names)[number], readonly number[]>>;

function figuresOf(text: string): Figures {
  const entries = names.map((name) => [name, readings(text, `netgloss_snmp_device_${name}`)]);
  return Object.fromEntries(entries) as Figures;
}

try {
  const metricsPort = await ask<number>({ ask: "start", devices: join(directory, "devices") });
  const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${metricsPort}/`)).text();
  const isExpected = (i: number): boolean => deviceClasses[i] !== "dead";
  const expected = addresses.filter((_, i) => isExpected(i)).length;
  for (const start = performance.now(); ; await sleep(5000)) {
    const [, up = "0"] = /^netgloss_snmp_devices\{state="up"\} (\d+)$/m.exec(await scrape()) ?? [];
    if (Number(up) >= expected) break;
    if (performance.now() - start > 900_000) throw new Error(`only ${up} devices were discovered`);
  }
  // The first polls follow the discoveries; they are not those of the grid.
  await sleep(5000);

  const before = figuresOf(await scrape());
  const lags: number[] = [];
  await ask({ ask: "begin" });
  const start = performance.now();
  let polled = before.polls_total;
  for (let at = scrapeEvery; at <= measured; at += scrapeEvery) {
    await sleep(start + at * 1000 - performance.now());
    const text = await scrape();
    // The last poll of each device that was polled since the last look.
    const polls = figuresOf(text).polls_total;
    const late = readings(text, "netgloss_snmp_device_poll_lag_seconds");
    lags.push(...late.filter((_, i) => isExpected(i) && polls[i] !== polled[i]));
    polled = polls;
  }
  const figures = await ask<CollectorFigures>({ ask: "end" });
  const seconds = (performance.now() - start) / 1000;
  const after = figuresOf(await scrape());
  /** How many object types of each device are polled. It is asked last, for finding it out makes much garbage. */
  const typesOf = await ask<readonly number[]>({ ask: "types", ids: addresses.map((ip) => `${ip}:${port}`) });

  const grown = (name: keyof Figures, isMeant: (i: number) => boolean): number =>
    addresses.reduce((sum, _, i) => sum + (isMeant(i) ? (after[name][i] ?? 0) - (before[name][i] ?? 0) : 0), 0);
  const due = (isMeant: (i: number) => boolean): number =>
    addresses.reduce((sum, _, i) => sum + (isMeant(i) ? (typesOf[i] ?? 0) * (measured / interval) : 0), 0);
  const requests = grown("requests_total", () => true);
  const sorted = lags.sort((a, b) => a - b).map((lag) => lag * 1000);
  const percentile = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;

  const polls = grown("polls_total", isExpected);
  reportRow({
    what: `${addresses.length} devices, each every ${interval} s: polls begun`,
    value: polls,
    unit: "polls",
    peer: { what: "due", value: due(isExpected) },
  });
  reportRow({ what: "  missed", value: grown("polls_skipped_total", isExpected), unit: "polls", goal: "0" });
  reportRow({ what: "  requests", value: requests / seconds, unit: "PDU/s" });
  reportRow({ what: "  records", value: figures.records / seconds, unit: "records/s" });
  reportRow({ what: "  began late, median", value: percentile(0.5), unit: "ms" });
  reportRow({ what: "  began late, 99 of 100", value: percentile(0.99), unit: "ms" });
  reportRow({ what: "  began late, at most", value: percentile(1), unit: "ms", goal: "≤ 1 000" });
  reportRow({
    what: "  CPU",
    value: (figures.cpu / seconds) * 100,
    unit: "% of a core",
    goal: isMany ? "≤ 200" : "≤ 15",
  });
  reportRow({ what: "  CPU for a request and its records", value: (figures.cpu * 1e6) / requests, unit: "µs/PDU" });
  reportRow({ what: "  event loop held at most", value: figures.held, unit: "ms", goal: "≤ 50" });
  reportRow({ what: "  event loop held by a scrape, at most", value: figures.heldByScrape, unit: "ms", goal: "≤ 10" });
  reportRow({
    what: "  memory (RSS), at most",
    value: figures.mostMemory / 1e6,
    unit: "MB",
    ...(!isMany && { goal: "≤ 400" }),
  });
  const interfaces = deviceClasses.reduce((sum, name) => sum + (name === "dead" ? 0 : interfacesOf(name)), 0);
  const ofFifty = (figures.heap / interfaces) * 50;
  reportRow({ what: "  memory of a device with 50 interfaces", value: ofFifty / 1000, unit: "kB", goal: "≤ 150" });
  for (const [name] of layout) {
    const isMeant = (i: number): boolean => deviceClasses[i] === name;
    if (name === "dead") {
      const whole = addresses.filter((_, i) => isMeant(i)).length * (measured / interval);
      const peer = { what: "intervals", value: whole };
      reportRow({ what: `${name}: asked`, value: grown("probes_total", isMeant), unit: "probes", peer });
      continue;
    }
    const begun = grown("polls_total", isMeant);
    reportRow({
      what: `${name}: polls begun`,
      value: begun,
      unit: "polls",
      peer: { what: "due", value: due(isMeant) },
    });
    const answered = grown("requests_total", isMeant) / addresses.filter((_, i) => isMeant(i)).length;
    reportRow({ what: `  requests to one`, value: answered / (measured / interval), unit: "PDU/min" });
    reportRow({ what: `  not answered`, value: grown("timeouts_total", isMeant), unit: "requests" });
  }
} finally {
  await ask({ ask: "stop" });
  await collector.end();
  await fleet.end();
  await rm(directory, { recursive: true });
}
