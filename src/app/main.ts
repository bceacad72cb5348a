import { exitCodes } from "./cli/terminal.ts";
import { runProgram } from "./cli/program.ts";

/**
 * The program. What it writes has been taken by its reader when this ends; a reader that is gone (`| head`) is a clean end.
 *
 * @returns its exit code.
 */
export async function main(process: NodeJS.Process): Promise<number> {
  const { stdout, stderr } = process;
  let failure: NodeJS.ErrnoException | undefined;
  // Whoever reads the log may go away; that is no reason to stop.
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (failure === undefined && process.listenerCount("SIGTERM") > 0) process.emit("SIGTERM", "SIGTERM");
    failure ??= error;
  });
  const code = await runProgram({
    argv: process.argv.slice(2),
    env: process.env,
    out: (text) => void (failure === undefined && stdout.write(text)),
    drained: async () => {
      await taken(stdout);
      return failure === undefined;
    },
    get input() {
      return process.stdin;
    },
    err: (text) => void stderr.write(text),
    ask: async (question, options) =>
      (await import("./cli/ask-person.ts")).askPerson(question, options?.hidden === true),
    isWatched: stderr.isTTY,
    signals: process,
    exit: (exitCode) => process.exit(exitCode),
  });
  await taken(stdout);
  if (failure !== undefined && failure.code !== "EPIPE") {
    stderr.write(`error: the output cannot be written: ${failure.message}\n`);
  }
  await taken(stderr);
  const isWhole = failure === undefined || failure.code === "EPIPE";
  return isWhole || code !== exitCodes.ok ? code : exitCodes.failure;
}

/** Ends when all that was written before has been taken, or never will be. */
function taken(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}
