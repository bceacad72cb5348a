import type { Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { exitCodes, type Terminal } from "../terminal.ts";
import { replaceOption, type ReplaceScope } from "./replace-option.ts";

export interface ApplyOptions {
  readonly filename: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  /** Entries of this scope that are not in the file are deleted. */
  readonly replace?: ReplaceScope;
  readonly maxDeletes?: string;
}

/** `udm apply` and `udm diff`. */
export function addApplyCommand(udm: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const file = "a metadata file, or JSON as `udm list` writes it; - is the standard input";
  const apply = addClientOptions(udm.command("apply"))
    .description("create and replace entries as a file has them, after showing what changes; other entries stay")
    .requiredOption("-f, --filename <file>", file)
    .addOption(replaceOption())
    .option("--max-deletes <number>", "with --replace: refuse to delete more, a number or a percentage (default 20%)")
    .option("--dry-run", "only show what would change")
    .option("-y, --yes", "do not ask")
    .action(async (options: ApplyOptions) => {
      const { applyFile } = await import("./apply-file.ts");
      await applyFile(() => clientOf(apply, terminal), options, terminal);
    });

  const diff = addClientOptions(udm.command("diff"))
    .description("show what `udm apply` would change")
    .requiredOption("-f, --filename <file>", file)
    .addOption(replaceOption())
    .option("--exit-code", "end with exit code 1 when something would change")
    .action(async ({ exitCode, ...options }: ApplyOptions & { exitCode?: boolean }) => {
      const { applyFile } = await import("./apply-file.ts");
      const changes = await applyFile(
        () => clientOf(diff, terminal),
        { ...options, maxDeletes: "100%", dryRun: true },
        terminal,
      );
      if (exitCode === true && changes > 0) setExitCode(exitCodes.failure);
    });
}
