import type { CollectorAnswer } from "../../server/index.ts";
import { setTimeout as wait } from "node:timers/promises";
import { createMetrics, Progress, silentLog, systemClock } from "../../base/report/index.ts";
import {
  DefinitionsLoader,
  NetworkDiscovery,
  definitionPathsIn,
  type DiscoveryReport,
  type DiscoveryView,
} from "../../snmp/index.ts";
import { packagePath } from "../package-root.ts";
import type { ApiClient } from "./client/api-call.ts";
import { print, type OutputFormat } from "./print.ts";
import { CommandError, type Terminal, textTable } from "./terminal.ts";

export interface DiscoverOptions {
  readonly dryRun?: boolean;
  readonly network?: readonly string[];
  readonly json?: boolean;
  readonly from?: string;
  readonly out?: string;
  readonly rate?: number;
}

type Output = Pick<Terminal, "out" | "err" | "isWatched">;

/** The interval between reports of a search's progress, milliseconds. */
const lookMs = 500;
/** The rate of a search without a collector. */
const usualRate = 100;
const maxAddresses = 65_536;

/** Makes a running collector search its networks, and writes the findings. @returns whether that succeeded. */
export async function discoverThere(api: ApiClient, options: DiscoverOptions, terminal: Output): Promise<boolean> {
  if (options.out !== undefined || options.rate !== undefined) {
    throw new CommandError("usage", "--out and --rate go with --from: a collector has settings for them");
  }
  const query = new URLSearchParams([["dry_run", String(options.dryRun === true)]]);
  for (const name of options.network ?? []) query.append("network", name);
  const begun = (await api.ask("POST", `/api/v1/snmp/discover-networks?${query.toString()}`)) as DiscoveryView;
  const startedAt = begun.running?.startedAt;
  const line = createLine(terminal);
  let view = begun;
  while (view.running !== undefined && view.running.startedAt === startedAt) {
    line.show(view);
    await wait(lookMs);
    view = (await api.ask("GET", "/api/v1/snmp/discovery")) as DiscoveryView;
  }
  line.end();
  const { last } = view;
  if (last === undefined || (startedAt !== undefined && last.startedAt !== startedAt)) {
    throw new CommandError("failed", view.lastFailure?.message ?? "the search did not come to its end");
  }
  return showReport(last, options, terminal);
}

/** Searches the networks of a file without a collector. @returns whether that succeeded. */
export async function discoverFromHere(file: string, options: DiscoverOptions, terminal: Output): Promise<boolean> {
  const { out, dryRun } = options;
  const ours = definitionPathsIn(packagePath("definitions"));
  const loader = new DefinitionsLoader({
    paths: out === undefined || dryRun === true ? ours : { ...ours, devices: [...ours.devices, out] },
    metrics: createMetrics(),
    clock: systemClock,
  });
  const discovery = new NetworkDiscovery({
    settings: {
      networksPath: file,
      devicesDirectory: out ?? "",
      intervalMs: 0,
      maxAddresses,
      perSecond: options.rate ?? usualRate,
      maxInFlight: 256,
      candidates: [],
    },
    definitions: () => definitions,
    polled: () => [],
    apply: async () => undefined,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    progress: new Progress(systemClock),
  });
  if (out !== undefined && dryRun !== true) await discovery.start();
  const { definitions } = await loader.load("start");
  for (const warning of (await discovery.networks()).warnings) terminal.err(`warning: ${warning}\n`);
  const started = await discovery.run({
    isDryRun: dryRun === true || out === undefined,
    networks: options.network ?? [],
  });
  if (!started.ok) throw new CommandError("invalid_argument", started.problems.join("\n"));
  const line = createLine(terminal);
  const timer = setInterval(() => line.show(discovery.view()), lookMs);
  try {
    return showReport(await started.ended, options, terminal, () => line.end());
  } finally {
    clearInterval(timer);
    await discovery.stop();
  }
}

/** Returns one line at a terminal that shows the progress of a search. */
function createLine({ isWatched, err }: Output): { show(view: DiscoveryView): void; end(): void } {
  let shown = "";
  return {
    show({ running }) {
      if (!isWatched || running === undefined) return;
      const { probed, addresses, answered } = running;
      const percent = addresses === 0 ? 100 : Math.floor((100 * probed) / addresses);
      const text = `${percent} %: ${probed} of ${addresses} addresses, ${answered} devices answered`;
      err(`\r${text.padEnd(shown.length)}`);
      shown = text;
    },
    end() {
      if (shown !== "") err(`\r${" ".repeat(shown.length)}\r`);
      shown = "";
    },
  };
}

function showReport(
  report: DiscoveryReport,
  { json }: DiscoverOptions,
  { out, err }: Output,
  before: () => void = () => {},
): boolean {
  before();
  if (json === true) out(`${JSON.stringify(report, undefined, 2)}\n`);
  else out(reportText(report));
  if (report.problem !== undefined) err(`error: what was found is not polled: ${report.problem}\n`);
  return report.problem === undefined;
}

/** Returns the result of a run as text: a line for each difference, and the sums. */
function reportText(report: DiscoveryReport): string {
  const { isDryRun, addresses, durationSeconds, networks, known, refused } = report;
  const what = (words: readonly (string | undefined)[]): string => words.filter((word) => word !== undefined).join(" ");
  const rows = [
    ...report.new.map(({ name, device, credential, vendor, model, serial, sysObjectId, reason }) => {
      const made = what([vendor, model, serial === undefined ? undefined : `serial ${serial}`]);
      const why = reason === undefined ? "" : `, ${reason}`;
      return ["new", device, name, `${made === "" ? (sysObjectId ?? "") : made}, credential ${credential}${why}`];
    }),
    ...report.changed.map(({ name, device, changes, problem }) => {
      return ["changed", device, name, [...changes, ...(problem === undefined ? [] : [problem])].join("; ")];
    }),
    ...report.gone.map(({ name, device, lastSeen }) => {
      return ["gone", device, name, lastSeen === undefined ? "" : `answered last at ${lastSeen}`];
    }),
    ...report.duplicates.map(({ device, of, reason }) => ["duplicate", device, of, reason]),
    ...refused.map(({ address, reason }) => ["refused", address, "", reason]),
  ];
  const table = rows.length === 0 ? "" : textTable(["WHAT", "DEVICE", "NAME", "WHY"], rows);
  const counts = [
    `${report.new.length} new`,
    `${report.changed.length} changed`,
    `${report.gone.length} gone`,
    `${report.duplicates.length} duplicates`,
    `${refused.length} refused`,
    `${known} known`,
  ];
  const dry = isDryRun ? " Nothing was written." : "";
  const where = `${addresses} addresses of ${networks.join(", ")} in ${durationSeconds} s`;
  return `${table}${where}: ${counts.join(", ")}.${dry}\n`;
}

/** Lists addresses that may be devices. */
export async function showCandidates(api: ApiClient, format: OutputFormat, terminal: Output): Promise<void> {
  const answer = (await api.ask("GET", "/api/v1/snmp/candidates")) as CollectorAnswer<"listCandidates">;
  const { enabled, candidates } = answer;
  if (!enabled)
    terminal.err("no networks are searched by this collector: SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH is not set\n");
  const rows = candidates.map(({ address, state, network, reason }) => [address, state, network, reason]);
  await print({ value: candidates, head: ["address", "state", "network", "reason"], rows }, format, terminal);
}
