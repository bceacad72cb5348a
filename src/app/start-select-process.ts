import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Selections, type Select, type SelectionLimits } from "../exchange/index.ts";

/** Evaluates expressions, one at a time: who shares it waits for the others. */
export function createSelect(limits: Partial<SelectionLimits> = {}): Select {
  const selections = new Selections(startSelectProcess, limits);
  return (text, expression, signal) => selections.select(text, expression, signal);
}

/** Starts a process for an expression of a user. It has nothing of the collector's environment, which may hold secrets. */
export function startSelectProcess(memoryMb: number): ChildProcess {
  const entry = fileURLToPath(new URL("select-process.js", import.meta.url));
  return fork(entry, [String(memoryMb)], { env: {}, execArgv: [], stdio: ["pipe", "pipe", "ignore", "ipc"] });
}
