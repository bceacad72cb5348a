import { readFileSync } from "node:fs";

/** Ticks a second in which Linux tells CPU times. */
const ticks = 100;

/** User and system time of a process so far, in seconds. Linux only. */
export function cpuTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The fields are counted from behind the program's name, which may hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}
