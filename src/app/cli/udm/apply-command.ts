import type { Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { exitCodes, type Terminal } from "../terminal.ts";

export interface ApplyOptions {
  readonly filename: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `udm apply` and `udm diff`. */
export function addApplyCommand(udm: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const file = "a metadata file, or JSON as `udm list` writes it; - is the standard input";
  const apply = addClientOptions(udm.command("apply"))
    .description("create and replace entries as a file has them, after showing what changes; other entries stay")
    .requiredOption("-f, --filename <file>", file)
    .option("--dry-run", "only show what would change")
    .option("-y, --yes", "do not ask")
    .action(async (options: ApplyOptions) => {
      const { applyFile } = await import("./apply-file.ts");
      await applyFile(() => clientOf(apply, terminal), options, terminal);
    });

  const diff = addClientOptions(udm.command("diff"))
    .description("show what `udm apply` would change")
    .requiredOption("-f, --filename <file>", file)
    .option("--exit-code", "end with exit code 1 when something would change")
    .action(async ({ filename, exitCode }: { filename: string; exitCode?: boolean }) => {
      const { applyFile } = await import("./apply-file.ts");
      const changes = await applyFile(() => clientOf(diff, terminal), { filename, dryRun: true }, terminal);
      if (exitCode === true && changes > 0) setExitCode(exitCodes.failure);
    });
}
