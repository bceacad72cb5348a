import { CommandError } from "./command-error.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Asks whether a command may go on.
 *
 * @throws CommandError `usage` when nobody is there to be asked, `failed` when the answer is no.
 */
export async function confirm(question: string, terminal: Terminal): Promise<void> {
  const answer = await terminal.ask(`${question} [y/N] `);
  if (answer === undefined) throw new CommandError("usage", "nobody can be asked here: give --yes, or --dry-run");
  if (!/^(?:y|yes)$/i.test(answer.trim())) throw new CommandError("failed", "nothing was changed");
}
