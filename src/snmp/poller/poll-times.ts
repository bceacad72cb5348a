import { hash } from "node:crypto";
import type { Clock } from "../../base/report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { givesNames } from "./learnt-device.ts";
import type { PlanCompiler, PolledType } from "./poll-plan.ts";

/** An item that is due at a time. */
export interface Scheduled {
  /** The time in ms of the monotonic clock. */
  readonly due: number;
}

interface Item extends Scheduled {
  run: () => void;
  isCancelled: boolean;
}

/** The longest timeout of a Node timer, in ms. */
const maxTimeout = 2 ** 31 - 1;

/** The number of cancelled items above which they are removed, if they are more than the live ones. */
const sweepAbove = 32;

const nothing = (): void => {};

/**
 * Runs many items at their times with one timer.
 *
 * It is a binary heap by due time: the children of i are 2i + 1 and 2i + 2, and neither is due before i.
 */
export class Schedule {
  readonly #clock: Clock;
  readonly #heap: Item[] = [];
  #live = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `run` once, not before `due`. */
  at(due: number, run: () => void): Scheduled {
    const item: Item = { due, run, isCancelled: false };
    this.#live++;
    this.#push(item);
    if (due < this.#timerAt) this.#arm();
    return item;
  }

  cancel(scheduled: Scheduled): void {
    const item = scheduled as Item;
    if (item.isCancelled) return;
    item.isCancelled = true;
    item.run = nothing;
    this.#live--;
    if (this.#heap.length > 2 * this.#live + sweepAbove) this.#sweep();
  }

  get size(): number {
    return this.#live;
  }

  /** The number of items in memory, including cancelled ones. */
  get kept(): number {
    return this.#heap.length;
  }

  /** Stops the timer; nothing runs after this. */
  stop(): void {
    this.#heap.length = 0;
    this.#live = 0;
    this.#arm();
  }

  #sink(from: number): void {
    for (let i = from; ;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < this.#heap.length && this.#less(child, least)) least = child;
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  /** Removes cancelled items, which would otherwise stay until their time, up to a day. */
  #sweep(): void {
    const kept = this.#heap.filter(({ isCancelled }) => !isCancelled);
    this.#heap.length = 0;
    for (const item of kept) this.#heap.push(item);
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  #less(a: number, b: number): boolean {
    return (this.#heap[a] as Item).due < (this.#heap[b] as Item).due;
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b] as Item, this.#heap[a] as Item];
  }

  #push(item: Item): void {
    let i = this.#heap.push(item) - 1;
    for (let parent = (i - 1) >> 1; i > 0 && this.#less(i, parent); parent = (i - 1) >> 1) {
      this.#swap(i, parent);
      i = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #arm(): void {
    while (this.#heap[0]?.isCancelled === true) this.#pop();
    const next = this.#heap[0]?.due ?? Infinity;
    if (next === this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = next;
    this.#timer =
      next === Infinity
        ? undefined
        : setTimeout(() => this.#fire(), Math.min(maxTimeout, Math.max(0, next - this.#clock.monotonic())));
  }

  #fire(): void {
    this.#timerAt = Infinity;
    const now = this.#clock.monotonic();
    for (let top = this.#heap[0]; top !== undefined && top.due <= now; top = this.#heap[0]) {
      this.#pop();
      if (top.isCancelled) continue;
      top.isCancelled = true;
      this.#live--;
      top.run();
    }
    this.#arm();
  }
}

/** Returns a number from 0 to below 1 that is the same for a device in each run. It spreads many devices over an interval. */
export function placeOf(deviceId: string): number {
  return Number.parseInt(hash("sha256", deviceId, "hex").slice(0, 8), 16) / 2 ** 32;
}

/**
 * Returns the last time at which the device was due by its offset on a grid of this interval, whichever process polled it. The result
 * is in ms since the epoch and not after `now`.
 */
export function lastTurn(deviceId: string, intervalMs: number, now: number): number {
  const since = (now - placeOf(deviceId) * intervalMs) % intervalMs;
  return now - (since < 0 ? since + intervalMs : since);
}

interface PollGridParts {
  readonly schedule: Schedule;
  readonly clock: Clock;
  /** Polls a type that is due, with a delay of `lagMs`. Never rejects. */
  readonly poll: (type: string, lagMs: number) => Promise<void>;
  /** Gets the number of polls left out because the one before had not ended, or the process was suspended at their time. */
  readonly onMissed: (polls: number) => void;
}

interface TypeTask {
  due: number;
  intervalMs: number;
  scheduled: Scheduled;
  /** `extra` is a poll in addition to those of the grid: a poll that is due meanwhile is not missed. */
  running: "no" | "due" | "extra";
}

/** The times at which a device's object types are due. Each type has a grid of its own, independent of the duration of polls. */
export class PollGrid {
  readonly #schedule: Schedule;
  readonly #clock: Clock;
  readonly #poll: (type: string, lagMs: number) => Promise<void>;
  readonly #onMissed: (polls: number) => void;
  readonly #tasks = new Map<string, TypeTask>();

  constructor({ schedule, clock, poll, onMissed }: PollGridParts) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.#poll = poll;
    this.#onMissed = onMissed;
  }

  /** Returns the next due time of the monotonic clock; undefined if nothing is due. */
  nextDue(): number | undefined {
    return this.#tasks.size === 0 ? undefined : Math.min(...Array.from(this.#tasks.values(), ({ due }) => due));
  }

  /**
   * Adapts the grid to these intervals (ms, by type). A type that was there keeps its place in time, or one of its places on the finer
   * grid. A new type joins the next due time of the others. The first types begin after the delay.
   */
  plan(intervals: ReadonlyMap<string, number>, delayMs: number): void {
    const now = this.#clock.monotonic();
    for (const [type, task] of this.#tasks) {
      if (intervals.has(type)) continue;
      this.#schedule.cancel(task.scheduled);
      this.#tasks.delete(type);
    }
    const others = this.nextDue();
    for (const [type, intervalMs] of intervals) {
      const known = this.#tasks.get(type);
      if (known?.intervalMs === intervalMs) continue;
      // The grid of the device stays, because devices that change together must not be polled together.
      const place = known?.due ?? others;
      const due = place === undefined ? now + delayMs : this.#soonest(place, intervalMs, now);
      if (known !== undefined) this.#schedule.cancel(known.scheduled);
      const task: TypeTask = known ?? { due, intervalMs, running: "no", scheduled: { due } };
      Object.assign(task, { due, intervalMs, scheduled: this.#schedule.at(due, () => this.#onDue(type, task)) });
      this.#tasks.set(type, task);
    }
  }

  /** Polls each type, or each wanted one, once now in addition to its times, unless it is being polled. */
  pollAll(isWanted: (type: string) => boolean = () => true): void {
    // All types get one time, because types that are due together are one poll.
    const now = this.#clock.monotonic();
    for (const [type, task] of this.#tasks)
      if (isWanted(type)) this.#start(type, task, this.#clock.monotonic() - now, "extra");
  }

  /** Removes all due times. */
  clear(): void {
    for (const { scheduled } of this.#tasks.values()) this.#schedule.cancel(scheduled);
    this.#tasks.clear();
  }

  #onDue(type: string, task: TypeTask): void {
    const lag = this.#clock.monotonic() - task.due;
    // Polls missed while the process was suspended are not repeated.
    const steps = Math.max(1, Math.ceil((lag + 1) / task.intervalMs));
    task.due += task.intervalMs * steps;
    task.scheduled = this.#schedule.at(task.due, () => this.#onDue(type, task));
    const missed = steps - 1 + (task.running === "due" ? 1 : 0);
    if (missed > 0) this.#onMissed(missed);
    this.#start(type, task, lag, "due");
  }

  #start(type: string, task: TypeTask, lagMs: number, running: TypeTask["running"]): void {
    if (task.running !== "no") return;
    task.running = running;
    void this.#poll(type, lagMs).finally(() => (task.running = "no"));
  }

  /** Returns the next future time that is a whole number of intervals before `due`, or `due` itself. */
  #soonest(due: number, intervalMs: number, now: number): number {
    return due - Math.max(0, Math.ceil((due - now) / intervalMs) - 1) * intervalMs;
  }
}

/** Polls that no process made. */
export interface MissedTurns {
  /** The end of polling by the earlier run, in ms since the epoch. */
  readonly since: number;
  /** The delay until they are made up for. */
  readonly delayMs: number;
}

/** The current facts of the device on which the times depend. */
interface TimedDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  readonly plan: DevicePlan | undefined;
}

interface PollTimesParts extends PollGridParts {
  readonly compiler: PlanCompiler;
  readonly now: () => TimedDevice;
}

/** The least time between extra polls, because a link that flaps must not cause constant polling. */
const minInterfacePollMs = 10_000;

/** Decides which objects of a device are polled, and when. */
export class PollTimes implements Pick<PollGrid, "pollAll" | "clear" | "nextDue"> {
  readonly #parts: PollTimesParts;
  readonly #schedule: Schedule;
  readonly #clock: Clock;
  readonly #grid: PollGrid;
  #compiled: ReadonlyMap<string, PolledType> | undefined;
  #interfacesPolledAt = -Infinity;

  constructor(parts: PollTimesParts) {
    this.#parts = parts;
    this.#schedule = parts.schedule;
    this.#clock = parts.clock;
    this.#grid = new PollGrid(parts);
  }

  /** Returns the polled object types by name; none without a plan. */
  types(): ReadonlyMap<string, PolledType> {
    return (this.#compiled ??= this.#compile());
  }

  /** Drops the compiled types after a change of the plan, the device or the definitions. The next use compiles them again. */
  changed(): void {
    this.#compiled = undefined;
  }

  /** Adapts the times to the types. A device that was not polled is polled now, or has its missed polls made up for. */
  plan(missed?: MissedTurns): void {
    const { id } = this.#parts.now().device;
    const isPolled = this.#grid.nextDue() !== undefined;
    const intervals = new Map(Array.from(this.types(), ([type, { intervalMs }]) => [type, intervalMs]));
    const now = this.#clock.now();
    const shortest = Math.min(...intervals.values());
    const last = lastTurn(id, shortest, now);
    this.#grid.plan(intervals, last + shortest - now);
    if (isPolled || intervals.size === 0) return;
    if (missed === undefined) this.#grid.pollAll();
    else if (last >= missed.since)
      this.#schedule.at(this.#clock.monotonic() + missed.delayMs, () => this.#grid.pollAll());
  }

  /** Polls the objects that name interfaces now, in addition to their times, at most once in 10 s. */
  pollInterfaces(): void {
    const now = this.#clock.monotonic();
    if (now < this.#interfacesPolledAt + minInterfacePollMs) return;
    this.#interfacesPolledAt = now;
    this.#grid.pollAll((type) => this.types().get(type)?.objects.some(givesNames) === true);
  }

  pollAll(isWanted?: (type: string) => boolean): void {
    this.#grid.pollAll(isWanted);
  }

  clear(): void {
    this.#grid.clear();
  }

  nextDue(): number | undefined {
    return this.#grid.nextDue();
  }

  /** Compiles the types. A device without objects is still polled to find out whether it is there and has objects now. */
  #compile(): ReadonlyMap<string, PolledType> {
    const { plan, definitions, device } = this.#parts.now();
    const found = plan && this.#parts.compiler.compile(plan, definitions, device);
    if (found?.size !== 0) return found ?? new Map<string, PolledType>();
    return new Map([["", { intervalMs: device.pollIntervalMs, objects: [] }]]);
  }
}

/** The poll of one type, on whose names other types of the same time wait. */
export class NamingPoll {
  readonly due: number;
  readonly #underWay: Set<NamingPoll>;
  readonly #done: Promise<void>;
  #finish: () => void = () => {};
  #left: number;

  constructor(due: number, naming: number, underWay: Set<NamingPoll>) {
    this.due = due;
    this.#left = naming;
    this.#underWay = underWay;
    this.#done = new Promise((resolve) => (this.#finish = resolve));
    if (naming > 0) underWay.add(this);
  }

  /** Counts an object that gives names as read, or as failed. */
  learned(): void {
    if (--this.#left === 0) this.end();
  }

  /** Resolves when all names of the poll are known. */
  async known(): Promise<void> {
    const same = [...this.#underWay].filter((other) => Math.abs(other.due - this.due) < sameMs);
    await Promise.all(same.map((other) => other.#done));
  }

  /** Ends the type, so that nothing waits for it any longer. */
  end(): void {
    this.#underWay.delete(this);
    this.#finish();
  }
}

/** The difference in ms below which the times of two types are the same. */
const sameMs = 1;

/** Makes the records of one poll wait until the names of interfaces that it reads are known. */
export class NameOrder {
  readonly #underWay = new Set<NamingPoll>();

  /**
   * Begins a type that is due. All types that are due at the same time begin in one cycle of the event loop.
   *
   * @param due in ms of the monotonic clock; types with the same time are one poll.
   * @param naming the number of its objects that give names.
   */
  begin(due: number, naming: number): NamingPoll {
    return new NamingPoll(due, naming, this.#underWay);
  }
}
