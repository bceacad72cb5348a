import { setTimeout as sleep } from "node:timers/promises";
import type { Helper } from "../support/child.ts";
import { median } from "../support/median.ts";
import type { Trial } from "./find-rate.ts";
import type { GeneratorOrder, GeneratorResult } from "./generator-process.ts";

/** What receives. */
export interface Target {
  readonly port: number;
  /** Records so far: those that came out, and those lost by place. */
  readonly counts: () => Promise<Counts>;
  /** CPU time so far by thread, in nanoseconds. */
  readonly cpu: () => ReadonlyMap<string, number>;
  /** Records that may lie in buffers of its own until more come; not lost, and counted by a later trial. Default: none. */
  readonly slack?: number;
}

export interface Counts {
  readonly received: number;
  readonly lost: Readonly<Record<string, number>>;
}

export type Traffic = Omit<GeneratorOrder, "port" | "recordsPerSecond">;

/** Sends at a rate and waits until all has come, or nothing more comes. */
export async function runTrial(generator: Helper, target: Target, traffic: Traffic, rate: number): Promise<Trial> {
  const before = await target.counts();
  const cpuBefore = target.cpu();
  const order: GeneratorOrder = { ...traffic, port: target.port, recordsPerSecond: rate };
  const result = await generator.ask<GeneratorResult>(order);
  const ended = performance.now();
  const after = await settled(
    target,
    (counts) => received(counts) + allLost(counts) >= result.records - (target.slack ?? 0),
  );
  const drainSeconds = (performance.now() - ended) / 1000;
  const late = result.records - received(after) - allLost(after);
  const isLate = late !== 0 && Math.abs(late) <= (target.slack ?? 0);
  const cpu = [...target.cpu()].map(([thread, time]) => [thread, time - (cpuBefore.get(thread) ?? 0)] as const);
  const lost = Object.entries(after.lost).map(([place, count]) => [place, count - (before.lost[place] ?? 0)] as const);
  const unaccounted = isLate ? 0 : late;
  return {
    rate,
    sent: result.records,
    received: received(after) + (isLate ? late : 0),
    lost: Object.fromEntries([...lost, ["unaccounted", unaccounted] as const].filter(([, count]) => count !== 0)),
    cpu: Object.fromEntries(cpu.map(([thread, time]) => [thread, time / result.records])),
    drainSeconds,
    generatorCpu: result.cpu / result.seconds,
  };

  function received(counts: Counts): number {
    return counts.received - before.received;
  }
  function allLost(counts: Counts): number {
    return sum(counts.lost) - sum(before.lost);
  }
}

function sum(values: Readonly<Record<string, number>>): number {
  return Object.values(values).reduce((total, value) => total + value, 0);
}

/** Waits until all is there, or for some seconds nothing more has come. */
async function settled(target: Target, isAll: (counts: Counts) => boolean): Promise<Counts> {
  let last = await target.counts();
  // One that writes now and then is given longer.
  const enough = target.slack === undefined ? 40 : 100;
  for (let quiet = 0; quiet < enough && !isAll(last);) {
    await sleep(50);
    const counts = await target.counts();
    quiet = counts.received + sum(counts.lost) === last.received + sum(last.lost) ? quiet + 1 : 0;
    last = counts;
  }
  return last;
}

/** Nanoseconds a record, of one thread. */
export function cpuOfThread(trials: readonly Trial[], thread: string): number {
  return median(trials.map(({ cpu }) => cpu[thread] ?? 0));
}

/** Nanoseconds a record. The median of each thread by itself, for what disturbs a trial seldom disturbs all threads alike. */
export function cpuOfRecord(trials: readonly Trial[]): number {
  const threads = new Set(trials.flatMap(({ cpu }) => Object.keys(cpu)));
  return sum(Object.fromEntries([...threads].map((thread) => [thread, cpuOfThread(trials, thread)])));
}
