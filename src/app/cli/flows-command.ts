import { InvalidArgumentError, Option } from "commander";
import type { ApiClient } from "./client/api-call.ts";
import { addOutput, print, printTable, type Cell, type OutputFormat } from "./print.ts";
import { type Terminal, CommandError } from "./terminal.ts";
import { recordVocabulary } from "../../record/index.ts";
import { nearName } from "../../base/text/index.ts";
import { throughApi, timeSpan, type DefineCommand } from "./command.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { collect } from "./command.ts";

/** Counts of all flows that passed in some time, including those not among the lines. */
interface TailCounts {
  readonly seen: number;
  readonly examined: number;
  readonly matched: number;
  readonly passed: number;
}

/** Yields lines of passing flows, some at a time; counts come about once a second. */
async function* readTail(
  client: ApiClient,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<{ readonly lines: readonly string[]; readonly counts?: TailCounts }> {
  const path = `/api/v1/flow/tail?${new URLSearchParams({ ...query, notes: "true" }).toString()}`;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of await client.read("GET", path, { isEndless: true })) {
    const all = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = all.pop() ?? "";
    let lines: string[] = [];
    for (const line of all) {
      if (!line.startsWith('{"tail":')) {
        if (line !== "") lines.push(line);
        continue;
      }
      yield { lines, counts: (JSON.parse(line) as { tail: TailCounts }).tail };
      lines = [];
    }
    if (lines.length > 0) yield { lines };
  }
}

/** Writes flows as they pass, until there are `limit` or nobody reads them any more. The standard error says how many were left out. */
async function tailFlows(
  client: ApiClient,
  { filter = "", rate, limit = Infinity, output }: TailOptions,
  terminal: Terminal,
): Promise<void> {
  let left = limit;
  for await (const { lines, counts } of readTail(client, { filter, rate: String(rate) })) {
    const shown = lines.slice(0, left);
    left -= shown.length;
    if (shown.length > 0) terminal.out(shown.map((line) => `${output === "json" ? line : textOf(line)}\n`).join(""));
    if (!(await terminal.drained()) || left === 0) return;
    if (counts === undefined || !terminal.isWatched) continue;
    const { seen, examined, matched, passed } = counts;
    if (seen > examined) terminal.err(`# ${seen - examined} of ${seen} records went by too fast to be looked at\n`);
    if (matched > passed) terminal.err(`# ${matched - passed} of ${matched} flows are not shown: see --rate\n`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns a flow as text: `12:00:01.250 10.0.0.1:443 (web) > 192.0.2.1:50000 tcp 1500 B 3 packets from 198.51.100.1`. */
function textOf(line: string): string {
  const fields = JSON.parse(line) as Fields;
  const time = new Date(String(fields["@timestamp"]));
  const shownTime = Number.isNaN(time.getTime()) ? "" : time.toISOString().slice(11, 23);
  const protocol = fields["l4.proto.name"] ?? fields["l4.proto.id"] ?? "";
  const amount = `${fieldText(fields["flow.bytes"])} B ${fieldText(fields["flow.packets"])} packets`;
  const parts = [shownTime, end(fields, "src"), ">", end(fields, "dst"), fieldText(protocol), amount];
  return `${parts.join(" ")} from ${fieldText(fields["flow.export.ip.addr"])}`.replace(/\p{Cc}/gu, "?");
}

function end(fields: Fields, which: "src" | "dst"): string {
  const address = fieldText(fields[`flow.${which}.ip.addr`]);
  const port = fields[`flow.${which}.l4.port.id`];
  const name = fields[`flow.${which}.ip.subnet.name`];
  const shownPort = port === undefined ? "" : `${address.includes(":") ? "." : ":"}${fieldText(port)}`;
  return `${address}${shownPort}${name === undefined ? "" : ` (${fieldText(name)})`}`;
}

function fieldText(value: unknown): string {
  return value === undefined ? "?" : JSON.stringify(value).replace(/^"(.*)"$/s, "$1");
}

/** The most rows of sums; further ones share one row. */
const maxRows = 100_000;
const othersRow = "(others)";
const tailRate = 10_000;
const usualSeconds = 10;

interface Sums {
  bytes: number;
  packets: number;
  flows: number;
}

/** Sums up flows by fields for some seconds. Sums are estimates when not all flows could be examined; a line then says so. */
async function topFlows(connect: () => Promise<ApiClient>, options: TopOptions, terminal: Terminal): Promise<void> {
  const columns = options.by.map(fieldsOf);
  const client = await connect();
  const rows = new Map<string, Sums>();
  const total = { seen: 0, examined: 0, matched: 0, passed: 0 };
  const query = { filter: options.filter ?? "", rate: String(tailRate) };
  const { for: wanted = usualSeconds } = options;
  let seconds = 0;
  if (options.output === "text" && (await keepsFlows(client))) {
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
  const head = [...options.by, "bytes", "packets", "flows", "bit/s"];
  const cells = estimated.map(({ by, bytes, packets, flows, bitsPerSecond }): readonly Cell[] => [
    ...Object.values(by),
    bytes,
    packets,
    flows,
    bitsPerSecond,
  ]);
  await print({ value: estimated, head, rows: cells }, options.output, terminal);
  if (factor > 1) terminal.err(`estimated from ${total.passed} of some ${Math.round(total.passed * factor)} flows\n`);
}

/** Reports whether Explore is on. If a collector cannot say so, its flows are watched instead. */
async function keepsFlows(client: ApiClient): Promise<boolean> {
  return client.ask("GET", "/api/v1/explore/status").then(
    () => true,
    () => false,
  );
}

/** Returns the fields for a name; the first one that a flow has counts. */
function fieldsOf(name: string): readonly string[] {
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
  let key = values.map((value) => (Array.isArray(value) ? value.join(",") : groupText(value))).join("\0");
  if (!rows.has(key) && rows.size >= maxRows) key = othersRow;
  let sums = rows.get(key);
  if (sums === undefined) rows.set(key, (sums = { bytes: 0, packets: 0, flows: 0 }));
  sums.bytes += Number(flow["flow.scaled.bytes"] ?? flow["flow.bytes"] ?? 0);
  sums.packets += Number(flow["flow.scaled.packets"] ?? flow["flow.packets"] ?? 0);
  sums.flows++;
}

function addCounts(total: { -readonly [name in keyof TailCounts]: number }, counts: TailCounts): void {
  for (const name of ["seen", "examined", "matched", "passed"] as const) total[name] += counts[name];
}

function groupText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const ratio = (all: number, part: number): number => (part === 0 ? 1 : all / part);

const maxFields = 4;

/** The parts of Explore's answer that this command reads. */
interface Answer {
  readonly rows: readonly { readonly key: readonly unknown[]; readonly value: number; readonly share: number }[];
  readonly from: string;
  readonly to: string;
  readonly sampling: number;
  readonly missing?: { readonly to: string; readonly because: string };
}

/** Sums up flows that Explore keeps. The last lines name estimates, and times that are not covered. */
async function topKeptFlows(
  connect: () => Promise<ApiClient>,
  options: TopOptions & { readonly last: string },
  terminal: Terminal,
): Promise<void> {
  const { by, sort, limit, filter = "", last } = options;
  if (by.length > maxFields) throw new CommandError("usage", `--by: Explore groups by ${maxFields} fields at most`);
  const dimensions = by.map(fieldOf);
  const client = await connect();
  const question = { from: `-${last}`, filter, dimensions, measure: sort, limit, granularity: "none" };
  const answer = (await client.ask("POST", "/api/v1/explore/query", question)) as Answer;
  const seconds = (Date.parse(answer.to) - Date.parse(answer.from)) / 1000;
  const rows = answer.rows.map(({ key, value, share }) => ({
    by: Object.fromEntries(by.map((name, i) => [name, key[i] ?? ""])),
    [sort]: value,
    share,
    ...(sort === "bytes" && { bitsPerSecond: Math.round((8 * value) / seconds) }),
  }));
  const head = [...by, sort, "share", ...(sort === "bytes" ? ["bit/s"] : [])];
  const cells = (shareOf: (share: number) => Cell): readonly (readonly Cell[])[] =>
    answer.rows.map(({ key, value, share }) => [
      ...by.map((_, i) => cellText(key[i])),
      value,
      shareOf(share),
      ...(sort === "bytes" ? [Math.round((8 * value) / seconds)] : []),
    ]);
  const text = (): string =>
    printTable(
      head,
      cells((share) => `${(100 * share).toFixed(1)} %`),
    );
  await print({ value: rows, head, rows: cells((share) => share), text }, options.output, terminal);
  if (answer.sampling > 1) terminal.err(`estimated: Explore kept one of up to ${answer.sampling} records\n`);
  if (answer.missing !== undefined) {
    terminal.err(`nothing of the time before ${answer.missing.to}: ${answer.missing.because}\n`);
  }
}

/** Returns the field for a name. Explore groups by fields, and some short names stand for several. */
function fieldOf(name: string): string {
  const [field, ...others] = fieldsOf(name);
  if (field !== undefined && others.length === 0) return field;
  throw new CommandError(
    "usage",
    `--by: ${name} stands for several fields, of which --last takes one: ${[field, ...others].join(", ")}`,
  );
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export interface TailOptions {
  readonly filter?: string;
  readonly rate: number;
  readonly limit?: number;
  readonly output: "text" | "json";
}

export interface TopOptions {
  readonly by: readonly string[];
  readonly filter?: string;
  readonly for?: number;
  readonly last?: string;
  readonly limit: number;
  readonly sort: "bytes" | "packets" | "flows";
  readonly output: OutputFormat;
}

/** Defines `flows …`: shows passing flows of a running collector. */
export const defineFlows: DefineCommand = (flows, { terminal }) => {
  const filter = "such as 'src in 10.0.0.0/8 and bytes > 1MB'; see docs/filters.md";

  const tail = addClientOptions(flows.command("tail").helpGroup(throughApi))
    .description("show flows while they go by, a part of them when they are many")
    .option("--filter <expression>", filter)
    .option("--rate <number>", "as many a second at most", numberFrom1, 100)
    .option("--limit <number>", "end after this many", numberFrom1)
    .addOption(new Option("-o, --output <format>", "how to write them").choices(["text", "json"]).default("text"))
    .action(async (options: TailOptions) => {
      await tailFlows(await clientOf(tail, terminal), options, terminal);
    });

  const top = addOutput(addClientOptions(flows.command("top").helpGroup(throughApi)))
    .description(
      "sum up flows by a field, the largest first: those of the next seconds, or with --last 1h those that Explore keeps",
    )
    .requiredOption("--by <field>", "a field, such as dst.name or src.as.org; repeat for more", collect)
    .option("--filter <expression>", filter)
    .option("--for <seconds>", "how long to watch (default: 10)", numberFrom1)
    .option("--last <time>", "ask Explore for the time up to now instead, such as 15m, 1h or 7d", timeSpan)
    .option("--limit <number>", "rows to show", numberFrom1, 20)
    .addOption(new Option("--sort <sum>", "what is largest").choices(["bytes", "packets", "flows"]).default("bytes"))
    .action(async (options: TopOptions) => {
      if (options.last !== undefined) {
        if (options.for !== undefined) throw new CommandError("usage", "--for watches, --last looks back: choose one");
        await topKeptFlows(() => clientOf(top, terminal), { ...options, last: options.last }, terminal);
        return;
      }
      await topFlows(() => clientOf(top, terminal), options, terminal);
    });
};

function numberFrom1(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}
