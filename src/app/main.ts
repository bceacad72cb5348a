import { runProgram } from "./cli/program.ts";

/** The program. @returns its exit code. */
export function main(process: NodeJS.Process): Promise<number> {
  // Whoever reads the log may go away; that is no reason to stop.
  process.stderr.on("error", () => {});
  // And of the output: who writes learns it by `drained`, or by listeners of its own.
  process.stdout.on("error", () => {});
  return runProgram({
    argv: process.argv.slice(2),
    env: process.env,
    out: (text) => void process.stdout.write(text),
    drained: () =>
      new Promise((resolve) => process.stdout.write("", (error) => resolve(error === null || error === undefined))),
    get input() {
      return process.stdin;
    },
    err: (text) => void process.stderr.write(text),
    signals: process,
    exit: (code) => process.exit(code),
  });
}
