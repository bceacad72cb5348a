import { ExchangeError } from "../exchange-error.ts";
import type { FaultList } from "../fault-list.ts";
import { rowsOfABlock, type RowBlocks } from "./row.ts";

/**
 * The rows of a JSON text: a list of objects, or an object that holds one as `udms`, `results`, `result` or `data`, as answers
 * of interfaces do.
 */
export async function* jsonRows(text: string, faults: FaultList): RowBlocks {
  yield* blocksOf(findRows(parseJson(text)), faults);
}

/** A parsed text. @throws ExchangeError that says where it breaks. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ExchangeError(
      "",
      `the text is not JSON: ${jsonFault(text, error instanceof Error ? error.message : "")}`,
    );
  }
}

/** What the engine says, with line and column where it gives the position, which it does not for every fault. */
function jsonFault(text: string, message: string): string {
  if (message.includes("end of JSON input")) return "it ends too early";
  const what = message.replace(/ in JSON at position .*$/s, "").replace(/ is not valid JSON$/, "");
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return what;
  const before = text.slice(0, Number(position));
  return `line ${before.split("\n").length}, column ${before.length - before.lastIndexOf("\n")}: ${what}`;
}

const listNames = ["udms", "results", "result", "data"] as const;

function findRows(document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document as unknown[];
  if (typeof document === "object" && document !== null) {
    for (const name of listNames) {
      const list = (document as Readonly<Record<string, unknown>>)[name];
      if (Array.isArray(list)) return list as unknown[];
    }
  }
  throw new ExchangeError(
    "select",
    `the JSON text is no list, and has none as ${listNames.join(", ")}: name its rows by an expression`,
  );
}

export async function* blocksOf(rows: readonly unknown[], faults: FaultList): RowBlocks {
  for (let start = 0; start < rows.length; start += rowsOfABlock) {
    const block = [];
    for (let i = start; i < Math.min(rows.length, start + rowsOfABlock); i++) {
      const values = rows[i];
      const number = i + 1;
      if (isObject(values)) block.push({ number, line: 0, header: undefined, values });
      else faults.add({ row: number, line: 0, column: "", field: "", reason: "the row is not an object" });
    }
    yield block;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
