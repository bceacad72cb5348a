import type { Command } from "commander";
import { exitCodes, type Terminal } from "./terminal.ts";

/** `filter`: passes on the records that a filter is true of. Needs no collector. */
export function addFilterCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  program
    .command("filter <expression> [files...]")
    .description("write the records, one JSON object a line, that a filter is true of; see docs/filters.md")
    .option("--check", "only check the expression")
    .option("--count", "write only how many records there are")
    .action(async (expression: string, files: string[], options: { check?: boolean; count?: boolean }) => {
      const { filterRecords } = await import("./filter-records.ts");
      setExitCode((await filterRecords(expression, files, options, terminal)) ? exitCodes.ok : exitCodes.failure);
    });
}
