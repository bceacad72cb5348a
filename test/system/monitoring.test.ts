// The monitoring kit and the page of metrics, held against a collector that runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { now, sampleRecords } from "../explore/query-cases.ts";
import { lineOf } from "../explore/query-model.ts";
import { clickHouseServer } from "../output/clickhouse/clickhouse-fixture.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { startPartner } from "../support/partner.ts";
import { startDatabase } from "../support/postgresql.ts";
import { requireProgram } from "../support/require-program.ts";
import { startRichCollector, startSharingCollector } from "../support/rich-collector.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const rulesPath = "monitoring/prometheus/netgloss.rules.yml";
const testsPath = "monitoring/prometheus/netgloss.rules.test.yml";
const metricsPage = "docs/reference/metrics.md";

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly targets: readonly { readonly expr?: string; readonly rawSql?: string }[];
}

function panelsOf(name: string): readonly Panel[] {
  return (JSON.parse(read(`monitoring/grafana/${name}`)) as { panels: readonly Panel[] }).panels;
}

test("promtool finds nothing wrong with the alerts, and each fires when it should", (t) => {
  const promtool = requireProgram(t, "promtool", "apt-get install prometheus");
  if (promtool === undefined) return;
  const run = (...args: string[]): void => {
    const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: root, encoding: "utf8" });
    assert.equal(status, 0, `${stdout}${stderr}`);
  };
  run("check", "rules", "--lint=all", "--lint-fatal", rulesPath);
  run("test", "rules", testsPath);
  const page = read("docs/monitoring.md");
  const alerts = [...read(rulesPath).matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? "");
  assert.ok(alerts.length > 10);
  for (const alert of alerts) {
    assert.ok(read(testsPath).includes(`name: ${alert}\n`), `${alert} has a test`);
    assert.ok(page.includes(`| \`${alert}\` |`), `${alert} is in docs/monitoring.md`);
  }
});

test("boards and alerts name metrics that a collector has, and the page of metrics has them all", async (t) => {
  const { url } = await startDatabase(t);
  const collectors = [await startRichCollector(t, url), await startSharingCollector(t, url)];
  const answers = collectors.map(async ({ api }) => (await fetch(`${api}/metrics`)).text());
  const text = (await Promise.all(answers)).join("");
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type] as const),
  );
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", help = ""]) => [name, help]));
  const exists = (name: string): boolean =>
    types.has(name) || types.get(name.replace(/_(?:bucket|sum|count)$/, "")) === "histogram";

  const named = (texts: readonly string[]): string[] =>
    texts.flatMap((one) => one.match(/\b(?:netgloss|process|nodejs)_\w+/g) ?? []);
  const expressions = readdirSync(join(root, "monitoring/grafana"))
    .flatMap((name) => panelsOf(name))
    .flatMap(({ targets }) => targets.flatMap(({ expr }) => (expr === undefined ? [] : [expr])));
  const ofRules = [...read(rulesPath).matchAll(/expr: (?:\|-\n((?: {10,}.*\n)+)|(.+)\n)/g)].map(
    (match) => match[1] ?? match[2] ?? "",
  );
  assert.ok(expressions.length > 20 && ofRules.length > 10);
  const names = new Set([...named(expressions), ...named(ofRules)]);
  assert.deepEqual([...names].filter((name) => !exists(name)).toSorted(), []);

  const rows = [...types]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, type]) => {
      return `| \`${name}\` | ${type} | ${(helps.get(name) ?? "").replaceAll("|", "\\|")} |`;
    });
  const [head = ""] = read(metricsPage).split("\n| metric |");
  const page = `${head}\n| metric | type | what it is |\n|---|---|---|\n${rows.join("\n")}\n`;
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(join(root, metricsPage), page);
  assert.equal(read(metricsPage), page, `${metricsPage} is as UPDATE_GOLDEN=1 writes it`);
});

test("every question of the board of traffic is one that ClickHouse answers", async (t) => {
  const { url } = await startPartner(t, "clickhouse");
  const never = new AbortController().signal;
  const adapter = adapterOf("CLICKHOUSE", clickHouseServer(String(url), { TABLE_TTL: 0 }));
  await adapter.open(never);
  await adapter.send(batchOf(sampleRecords.map((record) => lineOf(record).trimEnd())), never);
  await adapter.close();
  const ask = async (statement: string): Promise<string> => {
    const answer = await fetch(`${String(url)}/?user=netgloss&password=secret`, { method: "POST", body: statement });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${statement}: ${text}`);
    return text;
  };
  await ask(read("monitoring/clickhouse/flow-flowed.sql"));
  for (const { title, targets } of panelsOf("traffic-clickhouse.json")) {
    for (const { rawSql = "" } of targets) {
      // What Grafana's data source puts in place of its macros.
      const statement = rawSql
        .replaceAll("${__from}", String(now - 3_600_000))
        .replaceAll("${__to}", String(now))
        .replaceAll("$__interval_s", "60")
        .replaceAll("${database}", "default")
        .replaceAll("${exporter}", "");
      assert.doesNotMatch(statement, /\$/, title);
      const text = await ask(`${statement} FORMAT JSONEachRow`);
      assert.notEqual(text.trim(), "", `${title}: no rows`);
    }
  }
});
