import { readdirSync, readFileSync } from "node:fs";

/** Ticks a second of the CPU times that Linux reports. */
const ticks = 100;

/** User and system time of a process so far, in seconds. Linux only. */
export function cpuTime(pid: number): number {
  const { fields } = readStat(`/proc/${pid}/stat`);
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

/** Of all processes of a group and of those of their children that have ended, in seconds. */
export function groupCpuTime(group: number): number {
  let sum = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const { fields } = readStat(`/proc/${pid}/stat`);
      if (Number(fields[2]) !== group) continue;
      for (const field of [11, 12, 13, 14]) sum += Number(fields[field]) / ticks;
    } catch {
      // It has just ended; its parent has its time.
    }
  }
  return sum;
}

/**
 * Of the threads of a process, in nanoseconds by what they are called: as `name-threads.ts` names them; those that V8 and libuv
 * start are "engine".
 */
export function threadCpuTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const { name } = readStat(`/proc/${pid}/task/${tid}/stat`);
    // Threads are born with the name of the one that starts them.
    const isEngine = name === "node" || (name === "main" && Number(tid) !== pid);
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "utf8").split(" ");
    const key = isEngine ? "engine" : name;
    times.set(key, (times.get(key) ?? 0) + Number(nanoseconds));
  }
  return times;
}

function readStat(path: string): { name: string; fields: readonly string[] } {
  const stat = readFileSync(path, "utf8");
  // The fields are counted from behind the program's name, which may hold blanks and parentheses.
  const end = stat.lastIndexOf(")");
  return { name: stat.slice(stat.indexOf("(") + 1, end), fields: stat.slice(end + 2).split(" ") };
}
