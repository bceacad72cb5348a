import type { Clock } from "../../report/index.ts";
import type { Schedule, Scheduled } from "./schedule.ts";

/** When a device's object types are due: each on a grid of times of its own, whatever a poll takes. */
export interface PollGrid {
  /**
   * Brings what is due in line with these intervals (milliseconds, by type). A type that was there keeps its place in
   * time, or one of its places on the finer grid; a new one joins the next of the others. The first begin after the delay.
   */
  plan(intervals: ReadonlyMap<string, number>, delayMs: number): void;
  /** Polls each type, or each that is wanted, once now, in addition to its times, unless it is being polled. */
  pollAll(isWanted?: (type: string) => boolean): void;
  /** Nothing is due any more. */
  clear(): void;
  /** Of the monotonic clock; undefined when nothing is due. */
  nextDue(): number | undefined;
}

export interface PollGridParts {
  readonly schedule: Schedule;
  readonly clock: Clock;
  /** Polls a type that is due; it is `lagMs` late. Never rejects. */
  readonly poll: (type: string, lagMs: number) => Promise<void>;
  /** Polls left out: the one before had not ended, or the process slept through their time. */
  readonly onMissed: (polls: number) => void;
}

interface TypeTask {
  due: number;
  intervalMs: number;
  scheduled: Scheduled;
  /** `extra` is a poll in addition to those of the grid: one that is due meanwhile is not missed. */
  running: "no" | "due" | "extra";
}

export function createPollGrid({ schedule, clock, poll, onMissed }: PollGridParts): PollGrid {
  const tasks = new Map<string, TypeTask>();

  const onDue = (type: string, task: TypeTask): void => {
    const lag = clock.monotonic() - task.due;
    // What was slept through is not made up for.
    const steps = Math.max(1, Math.ceil((lag + 1) / task.intervalMs));
    task.due += task.intervalMs * steps;
    task.scheduled = schedule.at(task.due, () => onDue(type, task));
    const missed = steps - 1 + (task.running === "due" ? 1 : 0);
    if (missed > 0) onMissed(missed);
    start(type, task, lag, "due");
  };
  const start = (type: string, task: TypeTask, lagMs: number, running: TypeTask["running"]): void => {
    if (task.running !== "no") return;
    task.running = running;
    void poll(type, lagMs).finally(() => (task.running = "no"));
  };
  const nextDue = (): number | undefined =>
    tasks.size === 0 ? undefined : Math.min(...Array.from(tasks.values(), ({ due }) => due));
  /** The first time at or before `due` by whole intervals that is still to come. */
  const soonest = (due: number, intervalMs: number, now: number): number =>
    due - Math.max(0, Math.ceil((due - now) / intervalMs) - 1) * intervalMs;

  return {
    plan(intervals, delayMs) {
      const now = clock.monotonic();
      for (const [type, task] of tasks) {
        if (intervals.has(type)) continue;
        schedule.cancel(task.scheduled);
        tasks.delete(type);
      }
      const others = nextDue();
      for (const [type, intervalMs] of intervals) {
        const known = tasks.get(type);
        if (known?.intervalMs === intervalMs) continue;
        // On the grid that the device has: devices that change together must not fall into step.
        const place = known?.due ?? others;
        const due = place === undefined ? now + delayMs : soonest(place, intervalMs, now);
        if (known !== undefined) schedule.cancel(known.scheduled);
        const task: TypeTask = known ?? { due, intervalMs, running: "no", scheduled: { due } };
        Object.assign(task, { due, intervalMs, scheduled: schedule.at(due, () => onDue(type, task)) });
        tasks.set(type, task);
      }
    },
    pollAll(isWanted = () => true) {
      // One time for all: what is due together is one poll.
      const now = clock.monotonic();
      for (const [type, task] of tasks) if (isWanted(type)) start(type, task, clock.monotonic() - now, "extra");
    },
    clear() {
      for (const { scheduled } of tasks.values()) schedule.cancel(scheduled);
      tasks.clear();
    },
    nextDue,
  };
}
