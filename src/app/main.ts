import { openSync, writeSync } from "node:fs";
import { basename, relative } from "node:path";
import { createInterface } from "node:readline";
import { ReadStream } from "node:tty";
import { Writable } from "node:stream";
import { exitCodes } from "./cli/terminal.ts";
import { runProgram } from "./cli/program.ts";

/**
 * Asks at the terminal of the process. The standard input cannot be used, because it may be a file.
 *
 * @param hidden true if the typed text must not be visible.
 * @returns undefined when the process has no terminal, or the answer is the end of input.
 */
async function askPerson(question: string, hidden: boolean): Promise<string | undefined> {
  let descriptor: number;
  try {
    descriptor = openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
  const input = new ReadStream(descriptor);
  writeSync(descriptor, question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // With an output that discards, and `terminal`, neither the kernel nor readline echoes the typed text.
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

/** Returns the words that start the program again: the name of its link, else the file with its relative path. */
function startedAs(process: NodeJS.Process): string {
  const path = process.argv[1] ?? "";
  if (basename(path) === "netgloss") return "netgloss";
  const from = relative(process.cwd(), path);
  return `node ${from.startsWith("..") ? path : from}`;
}

/**
 * Runs the program. It ends after the reader has taken all output; a reader that is gone (`| head`) is a clean end.
 *
 * @returns its exit code.
 */
export async function main(process: NodeJS.Process): Promise<number> {
  const { stdout, stderr } = process;
  let failure: NodeJS.ErrnoException | undefined;
  // The reader of the log may go away; that is no reason to stop.
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (failure === undefined && process.listenerCount("SIGTERM") > 0) process.emit("SIGTERM", "SIGTERM");
    failure ??= error;
  });
  const code = await runProgram({
    startedAs: startedAs(process),
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
    ask: async (question, options) => askPerson(question, options?.hidden === true),
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

/** Resolves when all earlier output has been taken, or never will be. */
function taken(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}
