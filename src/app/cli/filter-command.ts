import { createReadStream } from "node:fs";
import {
  compileFilter,
  FilterError,
  parseFilter,
  recordVocabulary,
  type Matches,
  type Value,
} from "../../record/index.ts";
import { type Terminal, exitCodes } from "./terminal.ts";
import type { DefineCommand } from "./command.ts";

/**
 * Writes the lines of files, or of the standard input, that match a filter. It reports a line that is not a JSON object by its number, and
 * goes on.
 *
 * @returns whether there were no faults.
 */
async function filterRecords(
  expression: string,
  files: readonly string[],
  { check = false, count = false }: { check?: boolean; count?: boolean },
  terminal: Terminal,
): Promise<boolean> {
  const matches = compile(expression, terminal);
  if (matches === undefined) return false;
  if (check) return true;
  let isWell = true;
  let found = 0;
  for (const file of files.length === 0 ? ["-"] : files) {
    const lines = linesOf(file === "-" ? terminal.input : createReadStream(file));
    let number = 0;
    try {
      for await (const chunk of lines) {
        let kept = "";
        for (const line of chunk) {
          number++;
          if (line.trim() === "") continue;
          const record = readRecord(line);
          if (record === undefined) {
            isWell = false;
            terminal.err(`error: ${file === "-" ? "standard input" : file}:${number}: no JSON object\n`);
          } else if (matches(record)) {
            found++;
            kept += `${line}\n`;
          }
        }
        if (count || kept === "") continue;
        terminal.out(kept);
        // The reader may be slower, or gone.
        if (!(await terminal.drained())) return isWell;
      }
    } catch (error) {
      isWell = false;
      terminal.err(`error: ${file}: ${(error as Error).message}\n`);
    }
  }
  if (count) terminal.out(`${found}\n`);
  return isWell;
}

function compile(expression: string, terminal: Terminal): Matches | undefined {
  try {
    return compileFilter(parseFilter(expression, "expression", recordVocabulary));
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    terminal.err(`error: ${error.message}\n`);
    return undefined;
  }
}

/** Yields lines as they arrive, without their line feeds. */
async function* linesOf(input: AsyncIterable<string | Uint8Array>): AsyncIterable<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of input) {
    const text = rest + (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }));
    const lines = text.split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}

function readRecord(line: string): { get(name: string): Value | undefined } | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return undefined;
  const record = fields as Readonly<Record<string, Value>>;
  return { get: (name) => (Object.hasOwn(record, name) && isValue(record[name]) ? record[name] : undefined) };
}

/** Reports whether a value may come from the collector. */
function isValue(value: unknown): boolean {
  return value !== null && (typeof value !== "object" || Array.isArray(value));
}

/** Defines `filter`: passes on the records that match a filter. It needs no collector. */
export const defineFilter: DefineCommand = (filter, { terminal, setExitCode }) => {
  filter
    .option("--check", "only check the expression")
    .option("--count", "write only how many records there are")
    .action(async (expression: string, files: string[], options: { check?: boolean; count?: boolean }) => {
      setExitCode((await filterRecords(expression, files, options, terminal)) ? exitCodes.ok : exitCodes.failure);
    });
};
