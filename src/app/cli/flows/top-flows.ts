import { recordVocabulary } from "../../../record/index.ts";
import type { ApiClient } from "../client/api-call.ts";
import { nearName } from "../../../base/text/index.ts";
import { CommandError } from "../command-error.ts";
import type { Terminal } from "../terminal.ts";
import { textTable } from "../text-table.ts";
import type { TopOptions } from "./flows-command.ts";
import { readTail, type TailCounts } from "./read-tail.ts";

/** Rows that are summed up; what comes beyond is one row. */
const maxRows = 100_000;
const others = "(others)";
const tailRate = 10_000;
const usualSeconds = 10;

interface Sums {
  bytes: number;
  packets: number;
  flows: number;
}

/** Sums up flows by fields for some seconds. Sums are estimates when not all flows could be looked at; a line says so then. */
export async function topFlows(
  connect: () => Promise<ApiClient>,
  options: TopOptions,
  terminal: Terminal,
): Promise<void> {
  const columns = options.by.map(fieldsOf);
  const client = await connect();
  const rows = new Map<string, Sums>();
  const total = { seen: 0, examined: 0, matched: 0, passed: 0 };
  const query = { filter: options.filter ?? "", rate: String(tailRate) };
  const { for: wanted = usualSeconds } = options;
  let seconds = 0;
  if (options.output === "table" && (await keepsFlows(client))) {
    terminal.err(`watching for ${wanted} s; --last 1h asks Explore for the hour before\n`);
  }
  for await (const { lines, counts } of readTail(client, query)) {
    for (const line of lines) addFlow(rows, columns, JSON.parse(line) as Record<string, unknown>);
    if (counts === undefined) continue;
    addCounts(total, counts);
    seconds++;
    if (terminal.isWatched) terminal.err(`\r${seconds} of ${wanted} s, ${total.matched} flows `);
    if (seconds >= wanted) break;
  }
  if (terminal.isWatched) terminal.err("\n");

  const factor = ratio(total.seen, total.examined) * ratio(total.matched, total.passed);
  const sorted = [...rows].toSorted(([, a], [, b]) => b[options.sort] - a[options.sort]).slice(0, options.limit);
  const estimated = sorted.map(([key, sums]) => ({
    by: Object.fromEntries(options.by.map((name, i) => [name, key.split("\0")[i] ?? ""])),
    bytes: Math.round(sums.bytes * factor),
    packets: Math.round(sums.packets * factor),
    flows: Math.round(sums.flows * factor),
    bitsPerSecond: Math.round((8 * sums.bytes * factor) / Math.max(1, seconds)),
  }));
  if (options.output === "json") terminal.out(estimated.map((row) => `${JSON.stringify(row)}\n`).join(""));
  else {
    const header = [...options.by.map((name) => name.toUpperCase()), "BYTES", "PACKETS", "FLOWS", "BIT/S"];
    const cells = estimated.map(({ by, bytes, packets, flows, bitsPerSecond }) =>
      Object.values(by).concat([bytes, packets, flows, bitsPerSecond].map(String)),
    );
    terminal.out(textTable(header, cells));
  }
  if (factor > 1) terminal.err(`estimated from ${total.passed} of some ${Math.round(total.passed * factor)} flows\n`);
}

/** Whether Explore is on. A collector that cannot say so is watched all the same. */
async function keepsFlows(client: ApiClient): Promise<boolean> {
  return client.ask("GET", "/api/v1/explore/status").then(
    () => true,
    () => false,
  );
}

/** The fields that a name stands for: the first that a flow has counts. */
export function fieldsOf(name: string): readonly string[] {
  const known = recordVocabulary.find(name);
  const near = known === undefined ? nearName(name, recordVocabulary.names()) : recordVocabulary.slip(name);
  if (known !== undefined && near === undefined) return known.fields;
  throw new CommandError("usage", `--by: there is no field ${name}${near === undefined ? "" : `: is ${near} meant?`}`);
}

function addFlow(
  rows: Map<string, Sums>,
  columns: readonly (readonly string[])[],
  flow: Readonly<Record<string, unknown>>,
): void {
  const values = columns.map((fields) => fields.map((field) => flow[field]).find((value) => value !== undefined) ?? "");
  let key = values.map((value) => (Array.isArray(value) ? value.join(",") : text(value))).join("\0");
  if (!rows.has(key) && rows.size >= maxRows) key = others;
  let sums = rows.get(key);
  if (sums === undefined) rows.set(key, (sums = { bytes: 0, packets: 0, flows: 0 }));
  sums.bytes += Number(flow["flow.scaled.bytes"] ?? flow["flow.bytes"] ?? 0);
  sums.packets += Number(flow["flow.scaled.packets"] ?? flow["flow.packets"] ?? 0);
  sums.flows++;
}

function addCounts(total: { -readonly [name in keyof TailCounts]: number }, counts: TailCounts): void {
  for (const name of ["seen", "examined", "matched", "passed"] as const) total[name] += counts[name];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const ratio = (all: number, part: number): number => (part === 0 ? 1 : all / part);
