import { hash } from "node:crypto";
import type { Clock } from "../../base/report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { givesNames } from "./row-names.ts";
import type { CompilePollPlan, PolledType } from "./poll-plan.ts";

/** Something that is due at a time. */
export interface Scheduled {
  /** Milliseconds of the monotonic clock. */
  readonly due: number;
}

/** Runs many things at their times with one timer. */
export interface Schedule {
  /** Calls `run` once, not before `due`. */
  at(due: number, run: () => void): Scheduled;
  cancel(scheduled: Scheduled): void;
  readonly size: number;
  /** What is kept, cancelled items with it. */
  readonly kept: number;
  /** Nothing runs after this. */
  stop(): void;
}

interface Item extends Scheduled {
  run: () => void;
  isCancelled: boolean;
}

/** The longest that a timer of Node takes. */
const maxTimeout = 2 ** 31 - 1;

/** More cancelled items than live ones, and these, are swept out. */
const sweepAbove = 32;

/** A binary heap by due time: the children of i are 2i + 1 and 2i + 2, and neither is due before i. */
export function createSchedule(clock: Clock): Schedule {
  const heap: Item[] = [];
  let live = 0;
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Infinity;

  const nothing = (): void => {};
  const sink = (from: number): void => {
    for (let i = from; ;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && less(child, least)) least = child;
      if (least === i) return;
      swap(i, least);
      i = least;
    }
  };
  /** What was cancelled would stay until its time, which may be a day away. */
  const sweep = (): void => {
    const kept = heap.filter(({ isCancelled }) => !isCancelled);
    heap.length = 0;
    for (const item of kept) heap.push(item);
    for (let i = (heap.length >> 1) - 1; i >= 0; i--) sink(i);
  };
  const less = (a: number, b: number): boolean => (heap[a] as Item).due < (heap[b] as Item).due;
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b] as Item, heap[a] as Item];
  };
  const push = (item: Item): void => {
    let i = heap.push(item) - 1;
    for (let parent = (i - 1) >> 1; i > 0 && less(i, parent); parent = (i - 1) >> 1) {
      swap(i, parent);
      i = parent;
    }
  };
  const pop = (): void => {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    sink(0);
  };
  const arm = (): void => {
    while (heap[0]?.isCancelled === true) pop();
    const next = heap[0]?.due ?? Infinity;
    if (next === timerAt) return;
    clearTimeout(timer);
    timerAt = next;
    timer =
      next === Infinity ? undefined : setTimeout(fire, Math.min(maxTimeout, Math.max(0, next - clock.monotonic())));
  };
  const fire = (): void => {
    timerAt = Infinity;
    const now = clock.monotonic();
    for (let top = heap[0]; top !== undefined && top.due <= now; top = heap[0]) {
      pop();
      if (top.isCancelled) continue;
      top.isCancelled = true;
      live--;
      top.run();
    }
    arm();
  };

  return {
    at(due, run) {
      const item: Item = { due, run, isCancelled: false };
      live++;
      push(item);
      if (due < timerAt) arm();
      return item;
    },
    cancel(scheduled) {
      const item = scheduled as Item;
      if (item.isCancelled) return;
      item.isCancelled = true;
      item.run = nothing;
      live--;
      if (heap.length > 2 * live + sweepAbove) sweep();
    },
    get size() {
      return live;
    },
    get kept() {
      return heap.length;
    },
    stop() {
      heap.length = 0;
      live = 0;
      arm();
    },
  };
}

/** A place from 0 to below 1 that is a device's own, the same in each run: many devices are spread by it. */
export function placeOf(deviceId: string): number {
  return Number.parseInt(hash("sha256", deviceId, "hex").slice(0, 8), 16) / 2 ** 32;
}

/**
 * When the device was last due by its place on a grid of this interval, whatever process polled it. In milliseconds since
 * the epoch, not after `now`.
 */
export function lastTurn(deviceId: string, intervalMs: number, now: number): number {
  const since = (now - placeOf(deviceId) * intervalMs) % intervalMs;
  return now - (since < 0 ? since + intervalMs : since);
}

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
interface PollTimes extends Pick<PollGrid, "pollAll" | "clear" | "nextDue"> {
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
interface TimedDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  readonly plan: DevicePlan | undefined;
}

interface PollTimesParts extends PollGridParts {
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
