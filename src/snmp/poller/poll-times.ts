import { hash } from "node:crypto";
import type { Clock } from "../../base/report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { givesNames } from "./learnt-device.ts";
import type { PlanCompiler, PolledType } from "./poll-plan.ts";

/** Something that is due at a time. */
export interface Scheduled {
  /** Milliseconds of the monotonic clock. */
  readonly due: number;
}

interface Item extends Scheduled {
  run: () => void;
  isCancelled: boolean;
}

/** The longest that a timer of Node takes. */
const maxTimeout = 2 ** 31 - 1;

/** More cancelled items than live ones, and these, are swept out. */
const sweepAbove = 32;

const nothing = (): void => {};

/**
 * Runs many things at their times with one timer.
 *
 * A binary heap by due time: the children of i are 2i + 1 and 2i + 2, and neither is due before i.
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

  /** The number of items that are kept, cancelled ones included. */
  get kept(): number {
    return this.#heap.length;
  }

  /** Nothing runs after this. */
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

  /** Removes cancelled items, which would stay until their time, which may be a day away. */
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

/** An offset from 0 to below 1 that is a device's own, the same in each run: many devices are spread by it. */
export function placeOf(deviceId: string): number {
  return Number.parseInt(hash("sha256", deviceId, "hex").slice(0, 8), 16) / 2 ** 32;
}

/**
 * When the device was last due by its offset on a grid of this interval, whatever process polled it. In milliseconds since
 * the epoch, not after `now`.
 */
export function lastTurn(deviceId: string, intervalMs: number, now: number): number {
  const since = (now - placeOf(deviceId) * intervalMs) % intervalMs;
  return now - (since < 0 ? since + intervalMs : since);
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

/** When a device's object types are due: each on a grid of times of its own, whatever a poll takes. */
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

  /** Returns the next due time of the monotonic clock; undefined when nothing is due. */
  nextDue(): number | undefined {
    return this.#tasks.size === 0 ? undefined : Math.min(...Array.from(this.#tasks.values(), ({ due }) => due));
  }

  /**
   * Brings what is due in line with these intervals (milliseconds, by type). A type that was there keeps its place in
   * time, or one of its places on the finer grid; a new one joins the next of the others. The first begin after the delay.
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
      // On the grid that the device has: devices that change together must not fall into step.
      const place = known?.due ?? others;
      const due = place === undefined ? now + delayMs : this.#soonest(place, intervalMs, now);
      if (known !== undefined) this.#schedule.cancel(known.scheduled);
      const task: TypeTask = known ?? { due, intervalMs, running: "no", scheduled: { due } };
      Object.assign(task, { due, intervalMs, scheduled: this.#schedule.at(due, () => this.#onDue(type, task)) });
      this.#tasks.set(type, task);
    }
  }

  /** Polls each type, or each that is wanted, once now, in addition to its times, unless it is being polled. */
  pollAll(isWanted: (type: string) => boolean = () => true): void {
    // One time for all: what is due together is one poll.
    const now = this.#clock.monotonic();
    for (const [type, task] of this.#tasks)
      if (isWanted(type)) this.#start(type, task, this.#clock.monotonic() - now, "extra");
  }

  /** Nothing is due any more. */
  clear(): void {
    for (const { scheduled } of this.#tasks.values()) this.#schedule.cancel(scheduled);
    this.#tasks.clear();
  }

  #onDue(type: string, task: TypeTask): void {
    const lag = this.#clock.monotonic() - task.due;
    // Polls that were slept through are not made up for.
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

  /** The first time at or before `due` by whole intervals that is still to come. */
  #soonest(due: number, intervalMs: number, now: number): number {
    return due - Math.max(0, Math.ceil((due - now) / intervalMs) - 1) * intervalMs;
  }
}

/** Turns that nobody took. */
export interface MissedTurns {
  /** Milliseconds since the epoch: the earlier run polled until then. */
  readonly since: number;
  /** When they are made up for. */
  readonly delayMs: number;
}

/** Facts of the device that the times depend on, as they are at that time. */
interface TimedDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  readonly plan: DevicePlan | undefined;
}

interface PollTimesParts extends PollGridParts {
  readonly compiler: PlanCompiler;
  readonly now: () => TimedDevice;
}

/** A link that goes up and down all the time is no reason to poll all the time. */
const minInterfacePollMs = 10_000;

/** Says what of a device is polled, and when. */
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

  /** The object types that are polled, by name; none without a plan. */
  types(): ReadonlyMap<string, PolledType> {
    return (this.#compiled ??= this.#compile());
  }

  /** The plan, the device or the definitions are others: what is polled is compiled when it is wanted next. */
  changed(): void {
    this.#compiled = undefined;
  }

  /** Brings the times in line with the types. A device that was not polled is polled now, or has its missed polls made up for. */
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

  /** Polls what gives interfaces their names now, in addition to its times: at most once in 10 s. */
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

  /** A device that shows no objects is asked all the same whether it is there, and whether it has some by now. */
  #compile(): ReadonlyMap<string, PolledType> {
    const { plan, definitions, device } = this.#parts.now();
    const found = plan && this.#parts.compiler.compile(plan, definitions, device);
    if (found?.size !== 0) return found ?? new Map<string, PolledType>();
    return new Map([["", { intervalMs: device.pollIntervalMs, objects: [] }]]);
  }
}

/** The poll of one type, whose names others of the same time wait for. */
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

  /** One of the objects that give names has been read, or could not be. */
  learned(): void {
    if (--this.#left === 0) this.end();
  }

  /** Resolves when all names of the poll are known. */
  async known(): Promise<void> {
    const same = [...this.#underWay].filter((other) => Math.abs(other.due - this.due) < sameMs);
    await Promise.all(same.map((other) => other.#done));
  }

  /** The type is done: nobody waits for it any more. */
  end(): void {
    this.#underWay.delete(this);
    this.#finish();
  }
}

/** Types whose times differ by less are due at the same time, milliseconds. */
const sameMs = 1;

/** Makes the records of one poll wait until the names of interfaces that it reads are known. */
export class NameOrder {
  readonly #underWay = new Set<NamingPoll>();

  /**
   * Called for each type when it is due, in one cycle of the event loop for all that are due at the same time.
   *
   * @param due milliseconds of the monotonic clock; types with the same one are one poll.
   * @param naming how many of its objects give names.
   */
  begin(due: number, naming: number): NamingPoll {
    return new NamingPoll(due, naming, this.#underWay);
  }
}
