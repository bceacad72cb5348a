import type { Clock } from "../../base/report/index.ts";
import type { Schedule, Scheduled } from "./schedule.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { givesNames } from "./device-names.ts";
import { lastTurn } from "./place-of.ts";
import type { CompilePollPlan, PolledType } from "./poll-plan.ts";

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

interface PollGridParts {
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

/** Turns that nobody took. */
export interface MissedTurns {
  /** Milliseconds since the epoch: the earlier run polled until then. */
  readonly since: number;
  /** When they are made up for. */
  readonly delayMs: number;
}

/** What of a device is polled, and when. */
export interface PollTimes extends Pick<PollGrid, "pollAll" | "clear" | "nextDue"> {
  /** The object types that are polled, by name; none without a plan. */
  types(): ReadonlyMap<string, PolledType>;
  /** The plan, the device or the definitions are others: what is polled is compiled when it is wanted next. */
  changed(): void;
  /** Brings the times in line with the types. A device that was not polled is polled now, or has its missed turns made up for. */
  plan(missed?: MissedTurns): void;
  /** Polls what gives interfaces their names now, in addition to its times: at most once in 10 s. */
  pollInterfaces(): void;
}

/** What the times depend on, as it is at that time. */
export interface TimedDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  readonly plan: DevicePlan | undefined;
}

export interface PollTimesParts extends PollGridParts {
  readonly compile: CompilePollPlan;
  readonly now: () => TimedDevice;
}

/** A link that goes up and down all the time is no reason to poll all the time. */
const minInterfacePollMs = 10_000;

export function createPollTimes(parts: PollTimesParts): PollTimes {
  const { schedule, clock } = parts;
  const grid = createPollGrid(parts);
  let compiled: ReadonlyMap<string, PolledType> | undefined;
  let interfacesPolledAt = -Infinity;

  /** A device that shows no objects is asked all the same whether it is there, and whether it has some by now. */
  const compile = (): ReadonlyMap<string, PolledType> => {
    const { plan, definitions, device } = parts.now();
    const found = plan && parts.compile(plan, definitions, device);
    if (found?.size !== 0) return found ?? new Map<string, PolledType>();
    return new Map([["", { intervalMs: device.pollIntervalMs, objects: [] }]]);
  };
  const types = (): ReadonlyMap<string, PolledType> => (compiled ??= compile());

  return {
    types,
    changed: () => void (compiled = undefined),
    // Each device has a place of its own in the interval, the same after a restart.
    plan(missed) {
      const { id } = parts.now().device;
      const isPolled = grid.nextDue() !== undefined;
      const intervals = new Map(Array.from(types(), ([type, { intervalMs }]) => [type, intervalMs]));
      const now = clock.now();
      const shortest = Math.min(...intervals.values());
      const last = lastTurn(id, shortest, now);
      grid.plan(intervals, last + shortest - now);
      if (isPolled || intervals.size === 0) return;
      if (missed === undefined) grid.pollAll();
      else if (last >= missed.since) schedule.at(clock.monotonic() + missed.delayMs, () => grid.pollAll());
    },
    pollInterfaces() {
      const now = clock.monotonic();
      if (now < interfacesPolledAt + minInterfacePollMs) return;
      interfacesPolledAt = now;
      grid.pollAll((type) => types().get(type)?.objects.some(givesNames) === true);
    },
    pollAll: (isWanted) => grid.pollAll(isWanted),
    clear: () => grid.clear(),
    nextDue: () => grid.nextDue(),
  };
}
