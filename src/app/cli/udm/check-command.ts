import type { Command } from "commander";
import { exitCodes, type Terminal } from "../terminal.ts";

/** `udm check <file>`: judges a metadata file as the collector would read it. Needs no collector and changes nothing. */
export function addCheckCommand(udm: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  udm
    .command("check <file>")
    .helpGroup("Offline:")
    .description("check a metadata file, or a pipe, without a collector; all faults are reported as file:line:column")
    .action(async (path: string) => {
      const { checkMetadata } = await import("./check-metadata.ts");
      if (!(await checkMetadata(path, terminal))) setExitCode(exitCodes.failure);
    });
}
