import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Starts a process for an expression of a user. It has nothing of the collector's environment, which may hold secrets. */
export function startSelectProcess(memoryMb: number): ChildProcess {
  const entry = fileURLToPath(new URL("select-process.js", import.meta.url));
  return fork(entry, [String(memoryMb)], { env: {}, execArgv: [], stdio: ["pipe", "pipe", "ignore", "ipc"] });
}
