// The tools of metadata over a million entries: explanations, search, a difference, an import, watchers. The collector is a process of its own.
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { metadataSettings, startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { median } from "../support/median.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";

const entries = 1_000_000;
const changed = 100_000;
const rounds = 5;
const watchers = 1000;
const changes = 15;
const explanations = 3000;
/** Calls that are over in a millisecond or two: the first ones are those of code that is not compiled yet. */
const searches = 200;

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
const path = join(directory, "ipaddrs.yml");
writeMetadataFile(path, entries);
const settings = { ...metadataSettings(path), SVC_STATE_DIRECTORY_PATH: join(directory, "state") };
const collector = await startCollectorProcess({ settings, readyMs: 120_000 });
const { api } = collector;
const pid = collector.child.pid ?? 0;
try {
  await explain();
  await search("by text", { text: "no such text" }, "< 300 ms");
  await search("by a tag, first asked for", { filter: "tag = site-77" }, "< 300 ms", 1);
  await search("by an indexed tag", { filter: "tag = site-77" }, "< 5 ms", searches);
  await replace();
  await importRows();
  await watch();
} finally {
  await collector.end();
  await rm(directory, { recursive: true });
}

async function call(method: string, request: unknown, encoding = "gzip"): Promise<string> {
  const response = await fetch(`${api}/udm.v1.UdmToolsService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", "accept-encoding": encoding },
    body: JSON.stringify(request),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${text.slice(0, 500)}`);
  return text;
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/** The CPU time of the process for a call, less that of a call that does nothing. */
async function explain(): Promise<void> {
  const cpuPerCall = async (
    method: string,
    request: (i: number) => unknown,
    encoding = "identity",
  ): Promise<number> => {
    for (let i = 0; i < 500; i++) await call(method, request(i), encoding);
    const before = cpuTime(pid);
    for (let i = 0; i < explanations; i++) await call(method, request(i), encoding);
    return ((cpuTime(pid) - before) * 1e6) / explanations;
  };
  const ip = (i: number): string => `10.${i & 255}.${(i >> 3) & 255}.${(i * 7) & 255}`;
  const nothing = await cpuPerCall("ListChanges", () => ({ author: "nobody" }));
  for (const encoding of ["identity", "gzip"]) {
    reportRow({
      what: `ExplainAddress in all contexts, with its call, encoding ${encoding}`,
      value: await cpuPerCall("ExplainAddress", (i) => ({ ip: ip(i) }), encoding),
      unit: "µs CPU",
      peer: { what: "a call that finds nothing", value: nothing },
      goal: "< 300 µs above the peer, not compressed",
    });
  }
}

async function search(what: string, request: unknown, goal: string, times = rounds): Promise<void> {
  const all: number[] = [];
  const cpu = await cpuOf(async () => {
    for (let i = 0; i < times; i++) all.push(await timed(() => call("SearchUdms", request)));
  });
  reportRow({ what: `search of a million ${what}`, value: median(all), unit: "ms", goal });
  reportRow({ what: `search of a million ${what}`, value: cpu / times, unit: "ms CPU", goal });
}

async function report(what: string, goal: string, action: () => Promise<unknown>): Promise<void> {
  let time = 0;
  const cpu = await cpuOf(async () => {
    time = await timed(action);
  });
  reportRow({ what, value: time, unit: "ms", goal });
  reportRow({ what, value: cpu, unit: "ms CPU", goal });
}

async function replace(): Promise<void> {
  const udms = Array.from({ length: changed }, (_, i) => ({
    key: `11.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    name: `n${i}`,
  }));
  const scoped = { udms, scope: { within: "11.0.0.0/8" }, dryRun: true };
  const held = await longestHold(() =>
    report("dry run of 100 000 new ones against a million", "< 2000 ms", () => call("ReplaceUdms", scoped)),
  );
  reportRow({ what: "the longest wait of another call meanwhile", value: held, unit: "ms", goal: "< 50 ms" });
  const tagged = { udms: [], scope: { tag: "site-77" }, dryRun: true };
  const longest = await longestHold(() =>
    report("dry run that looks at all of a million for a tag", "< 2000 ms", () => call("ReplaceUdms", tagged)),
  );
  reportRow({ what: "the longest wait of another call meanwhile", value: longest, unit: "ms", goal: "< 50 ms" });
}

async function importRows(): Promise<void> {
  const sheet = (nameOf: (i: number) => string): string => {
    const line = (_: unknown, i: number): string =>
      `12.${i >> 16}.${(i >> 8) & 255}.${i & 255},${nameOf(i)},"a,b",${i % 4000},Site ${i % 50}`;
    return `key,name,tags,vlan,site\n${Array.from({ length: changed }, line).join("\n")}\n`;
  };
  const sheets: readonly (readonly [what: string, text: string])[] = [
    ["import of 100 000 CSV rows into a million, saved", sheet((i) => `name ${i}`)],
    ["import of the same rows, each hundredth changed", sheet((i) => (i % 100 === 0 ? `other ${i}` : `name ${i}`))],
    ["import of the same rows, all changed", sheet((i) => `third ${i}`)],
  ];
  for (const [what, text] of sheets) {
    const longest = await longestHold(() =>
      report(what, "< 3000 ms", () => call("ImportUdms", { text, format: "csv", map: "sheet" })),
    );
    reportRow({ what: "the longest wait of another call meanwhile", value: longest, unit: "ms" });
  }
}

/** The longest time that a call waited for while an action ran, in milliseconds. */
async function longestHold(action: () => Promise<void>): Promise<number> {
  const state = { isOver: false, longest: 0 };
  const probe = async (): Promise<void> => {
    while (!state.isOver) {
      const wait = await timed(() => fetch(`${api}/livez`).then((response) => response.text()));
      state.longest = Math.max(state.longest, wait);
    }
  };
  const probing = probe();
  await action();
  state.isOver = true;
  await probing;
  return state.longest;
}

/** CPU time of the collector for an action, in milliseconds: the time of an idle machine. */
async function cpuOf(action: () => Promise<unknown>): Promise<number> {
  const before = cpuTime(pid);
  await action();
  return (cpuTime(pid) - before) * 1000;
}

async function watch(): Promise<void> {
  const agent = new Agent({ maxSockets: Infinity });
  const state = { seen: 0, first: 0, all: (): void => {} };
  const open = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = get(`${api}/api/v1/enrich/ipaddr/changes`, { agent }, (response) => {
        response.setEncoding("utf8").on("data", (text: string) => {
          if (text.includes("event: at")) resolve();
          if (!text.includes("event: change")) return;
          if (state.seen++ === 0) state.first = performance.now();
          if (state.seen === watchers) state.all();
        });
      });
      request.on("error", reject);
    });
  for (let i = 0; i < watchers; i += 50) await Promise.all(Array.from({ length: 50 }, open));
  const times: number[] = [];
  const cpu = await cpuOf(async () => {
    for (let i = 0; i < changes; i++) {
      state.seen = 0;
      const arrived = new Promise<void>((resolve) => (state.all = resolve));
      const answered = call("BatchUpsertUdms", { requests: [{ udm: { key: "13.0.0.1", name: `round ${i}` } }] }).then(
        () => performance.now(),
      );
      await arrived;
      // The change is made when the first one hears of it, by the answer or as a watcher.
      times.push(performance.now() - Math.min(state.first, await answered));
    }
  });
  agent.destroy();
  reportRow({
    what: "a change at all of 1 000 watchers, from the first sign of it on",
    value: median(times),
    unit: "ms",
    goal: "< 100 ms",
  });
  reportRow({ what: "a change with 1 000 watchers, its save included", value: cpu / changes, unit: "ms CPU" });
}
