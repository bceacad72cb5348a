import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { ReadStream } from "node:tty";
import { Writable } from "node:stream";

/**
 * Asks at the terminal of the process, which is another thing than its standard input: that may be a file.
 *
 * @param hidden whether what is typed must not be seen.
 * @returns undefined when the process has no terminal, or the answer is the end of input.
 */
export async function askPerson(question: string, hidden: boolean): Promise<string | undefined> {
  let descriptor: number;
  try {
    descriptor = openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
  const input = new ReadStream(descriptor);
  writeSync(descriptor, question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // With an output that goes nowhere and `terminal`, what is typed is neither echoed by the kernel nor by readline.
  const lines = createInterface({ input, output: hidden ? silent : undefined, terminal: hidden });
  try {
    return await new Promise<string | undefined>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(undefined));
      lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
    });
  } finally {
    lines.close();
    if (hidden) writeSync(descriptor, "\n");
    input.destroy();
  }
}
