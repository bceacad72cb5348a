import { messageOf, migrateMs } from "../../base/postgresql/index.ts";
import { CommandError, type Terminal } from "./terminal.ts";

/**
 * Creates tables and reports the steps taken.
 *
 * @param what the tables hold, and in which database.
 * @throws CommandError `unavailable`
 */
export async function makeTables(
  what: string,
  migrate: (signal: AbortSignal) => Promise<readonly number[]>,
  terminal: Terminal,
): Promise<void> {
  try {
    const steps = await migrate(AbortSignal.timeout(migrateMs));
    terminal.out(steps.length === 0 ? "the tables are up to date\n" : `made step ${steps.join(", ")} of the tables\n`);
  } catch (error) {
    throw new CommandError("unavailable", `the tables of ${what} cannot be made: ${messageOf(error)}`);
  }
}
