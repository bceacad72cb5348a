import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { DefineCommand } from "../command-row.ts";
import { exitCodes } from "../terminal.ts";
import { replaceOption, type ReplaceScope } from "./replace-option.ts";

export interface ApplyOptions {
  readonly filename: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  /** Entries of this scope that are not in the file are deleted. */
  readonly replace?: ReplaceScope;
  readonly maxDeletes?: string;
}

const file = "a metadata file, or JSON as `udm list` writes it; - is the standard input";

/** `udm apply`. */
export const defineApply: DefineCommand = (apply, { terminal }) => {
  addClientOptions(apply)
    .requiredOption("-f, --filename <file>", file)
    .addOption(replaceOption())
    .option("--max-deletes <number>", "with --replace: refuse to delete more, a number or a percentage (default 20%)")
    .option("--dry-run", "only show what would change")
    .option("-y, --yes", "do not ask")
    .action(async (options: ApplyOptions) => {
      const { applyFile } = await import("./apply-file.ts");
      await applyFile(() => clientOf(apply, terminal), options, terminal);
    });
};

/** `udm diff`. */
export const defineDiff: DefineCommand = (diff, { terminal, setExitCode }) => {
  addClientOptions(diff)
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
};
