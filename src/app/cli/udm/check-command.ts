import type { DefineCommand } from "../command.ts";
import { exitCodes } from "../terminal.ts";

/** `udm check <file>`: judges a metadata file as the collector would read it. Needs no collector and changes nothing. */
export const defineCheck: DefineCommand = (check, { terminal, setExitCode }) => {
  check.action(async (path: string) => {
    const { checkMetadata } = await import("./check-metadata.ts");
    if (!(await checkMetadata(path, terminal))) setExitCode(exitCodes.failure);
  });
};
