import { runProgram } from "./cli/program.ts";

/** The program. @returns its exit code. */
export function main(process: NodeJS.Process): Promise<number> {
  // Whoever reads the log may go away; that is no reason to stop.
  process.stderr.on("error", () => {});
  return runProgram({
    argv: process.argv.slice(2),
    env: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    signals: process,
    exit: (code) => process.exit(code),
  });
}
