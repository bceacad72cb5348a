import type { Terminal } from "../terminal.ts";

/** Writes batches as fast as they are read. @returns false when nobody reads them any more. */
export async function writeAll<T>(
  terminal: Terminal,
  batches: AsyncIterable<readonly T[]>,
  textOf: (batch: readonly T[]) => string,
): Promise<boolean> {
  for await (const batch of batches) {
    terminal.out(textOf(batch));
    if (!(await terminal.drained())) return false;
  }
  return true;
}
