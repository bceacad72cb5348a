import type { DefineCommand } from "./command.ts";
import { exitCodes } from "./terminal.ts";

/** `filter`: passes on the records that match a filter. Needs no collector. */
export const defineFilter: DefineCommand = (filter, { terminal, setExitCode }) => {
  filter
    .option("--check", "only check the expression")
    .option("--count", "write only how many records there are")
    .action(async (expression: string, files: string[], options: { check?: boolean; count?: boolean }) => {
      const { filterRecords } = await import("./filter-records.ts");
      setExitCode((await filterRecords(expression, files, options, terminal)) ? exitCodes.ok : exitCodes.failure);
    });
};
