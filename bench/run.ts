// Runs benches one after the other, each in a process of its own, prints what they measure and keeps it in bench/results/.
//   npm run bench [-- names…] [--date=YYYY-MM-DD]
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { formatRow, ratioOf, type Row } from "./support/bench-report.ts";

const benches: Readonly<Record<string, string>> = {
  "cli-start": "app/cli-start-bench.js",
  pages: "app/pages-bench.js",
  "flow-pipeline": "flow/flow-pipeline-bench.js",
  "flow-decode": "flow/flow-decode-bench.js",
  "flow-cliffs": "flow/flow-cliffs-bench.js",
  "flow-names": "flow/flow-names-bench.js",
  "flow-first-seen": "flow/flow-first-seen-bench.js",
  "flow-filter": "flow/filter-bench.js",
  "flow-rules": "flow/rules-bench.js",
  watch: "watch/watch-bench.js",
  "watch-off": "watch/off-bench.js",
  "watch-rival": "watch/rival-bench.js",
  "flow-peers": "flow/flow-peers-bench.js",
  "flow-tee": "flow/tee-bench.js",
  "first-seen": "enrich/first-seen-bench.js",
  "first-seen-scopes": "enrich/first-seen-scopes-bench.js",
  "own-names": "enrich/own-names-bench.js",
  "flow-curve": "flow/flow-curve-bench.js",
  "api-calls": "api/api-calls-bench.js",
  "api-long": "api/api-long-bench.js",
  "udm-tools": "api/udm-tools-bench.js",
  "udm-index": "udm/udm-index-bench.js",
  "udm-save": "udm/udm-save-bench.js",
  "udm-start": "udm/udm-start-bench.js",
  "udm-layers": "udm/udm-layers-bench.js",
  "udm-scopes": "udm/udm-scopes-bench.js",
  "udm-postgresql": "udm/postgresql-bench.js",
  "fleet-exporters": "fleet/exporters-bench.js",
  explore: "explore/explore-bench.js",
  answers: "explore/answers-bench.js",
  "explore-cost": "explore/explore-cost-bench.js",
  delivery: "output/delivery-bench.js",
  "delivery-ecs": "output/ecs-bench.js",
  "delivery-encoders": "output/encoders-bench.js",
  "delivery-cost": "output/delivery-cost-bench.js",
  "delivery-kafka": "output/kafka-bench.js",
  "delivery-search": "output/search-bench.js",
  "delivery-away": "output/away-bench.js",
  "snmp-session": "snmp/session-bench.js",
  "snmp-definitions": "snmp/definitions-bench.js",
  "snmp-discovery": "snmp/discovery-bench.js",
  "snmp-poller": "snmp/poller-bench.js",
  "snmp-many": "snmp/poller-bench.js many",
  "snmp-poller-short": "snmp/poller-bench.js short",
  "snmp-hostile": "snmp/hostile-bench.js",
  "snmp-traps": "snmp/traps-bench.js",
  "snmp-topology": "snmp/topology-bench.js",
};

const { values, positionals } = parseArgs({ options: { date: { type: "string" } }, allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}`);
  process.exit(1);
}

const results = join(import.meta.dirname, "../../bench/results");
const machine = {
  date: values.date ?? new Date().toISOString().slice(0, 10),
  node: process.version,
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  kernel: release(),
};
console.log(`node ${machine.node}, ${machine.cores} × ${machine.cpu}`);

for (const name of names) {
  console.log(`\n${name}`);
  // Above the cores, others take their share and rates without loss are low.
  const load = Number(loadavg()[0]?.toFixed(1));
  mkdirSync(results, { recursive: true });
  // After each row: what was measured is kept, whatever happens to the rest.
  await runBench(benches[name] as string, (rows) => {
    const kept = { ...machine, load, figures: rows.map(withRatio) };
    writeFileSync(join(results, `${name}.json`), `${JSON.stringify(kept, undefined, 2)}\n`);
  });
}

function withRatio(row: Row): Row & { readonly ratio?: number } {
  return row.peer === undefined ? row : { ...row, ratio: Number(ratioOf(row.value, row.peer.value)) };
}

async function runBench(script: string, keep: (rows: readonly Row[]) => void): Promise<void> {
  const rows: Row[] = [];
  const [file = "", ...args] = script.split(" ");
  const child = fork(join(import.meta.dirname, file), args);
  child.on("message", ({ row }: { row: Row }) => {
    rows.push(row);
    console.log(formatRow(row));
    keep(rows);
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}`);
}
