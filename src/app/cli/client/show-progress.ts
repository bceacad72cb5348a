import type { TaskView } from "../../../base/report/index.ts";
import type { Terminal } from "../terminal.ts";
import type { ApiClient } from "./api-call.ts";

/** How often the collector is asked how far it is. */
const askMs = 500;

/**
 * Waits for what the collector does, and says at a terminal how far it is. Who may not see the progress just waits.
 *
 * @param kind of the tasks that are shown.
 */
export async function showProgress<T>(
  client: ApiClient,
  kind: TaskView["kind"],
  terminal: Pick<Terminal, "isWatched" | "err">,
  work: Promise<T>,
): Promise<T> {
  if (!terminal.isWatched) return work;
  let shown = "";
  let isDone = false;
  let asking = Promise.resolve();
  const show = (text: string): void => {
    if (text === shown || isDone) return;
    terminal.err(`\r${text.padEnd(shown.length)}`);
    shown = text;
  };
  const ask = async (): Promise<void> => {
    const { tasks } = (await client.ask("GET", "/api/v1/progress")) as { tasks: readonly TaskView[] };
    const mine = tasks.findLast((task) => task.kind === kind);
    if (mine !== undefined) show(progressLine(mine));
  };
  const timer = setInterval(() => void (asking = ask().catch(() => clearInterval(timer))), askMs);
  try {
    return await work;
  } finally {
    isDone = true;
    clearInterval(timer);
    await asking;
    if (shown !== "") terminal.err(`\r${" ".repeat(shown.length)}\r`);
  }
}

/** One task in a line: `reading: 42 %`. */
export function progressLine({ step, done, total, unit }: TaskView): string {
  if (done === 0) return `${step} …`;
  return total === undefined || total === 0
    ? `${step}: ${done} ${unit}`
    : `${step}: ${Math.min(100, Math.floor((100 * done) / total))} %`;
}
