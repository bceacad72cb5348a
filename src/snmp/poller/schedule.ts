import type { Clock } from "../../base/report/index.ts";

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
