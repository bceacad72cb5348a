import type { ApiClient } from "../client/api-call.ts";
import { CommandError } from "../command-error.ts";
import type { Terminal } from "../terminal.ts";
import { textTable } from "../text-table.ts";
import type { TopOptions } from "./flows-command.ts";
import { fieldsOf } from "./top-flows.ts";

const maxFields = 4;

/** What is read of an answer of Explore. */
interface Answer {
  readonly rows: readonly { readonly key: readonly unknown[]; readonly value: number; readonly share: number }[];
  readonly from: string;
  readonly to: string;
  readonly sampling: number;
  readonly missing?: { readonly to: string; readonly because: string };
}

/** Sums up flows that Explore keeps. What is an estimate, and what is not covered, is said at the end. */
export async function topKeptFlows(
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
  if (options.output === "json") terminal.out(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  else {
    const header = [...by, sort, "share", ...(sort === "bytes" ? ["bit/s"] : [])].map((name) => name.toUpperCase());
    const cells = answer.rows.map(({ key, value, share }) => [
      ...by.map((_, i) => cellText(key[i])),
      String(value),
      `${(100 * share).toFixed(1)} %`,
      ...(sort === "bytes" ? [String(Math.round((8 * value) / seconds))] : []),
    ]);
    terminal.out(textTable(header, cells));
  }
  if (answer.sampling > 1) terminal.err(`estimated: Explore kept one of up to ${answer.sampling} records\n`);
  if (answer.missing !== undefined) {
    terminal.err(`nothing of the time before ${answer.missing.to}: ${answer.missing.because}\n`);
  }
}

/** Explore groups by fields, and some short names stand for several. */
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
