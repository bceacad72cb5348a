import type { Component } from "../base/report/index.ts";
import { lendLines, type Sink, type ShapeLines } from "../record/index.ts";

/** A sink that gives the same lines to each of several, in their order. */
export function fanOut(sinks: readonly Sink[]): Sink {
  const [first, ...others] = sinks;
  if (first !== undefined && others.length === 0) return first;
  return {
    write(lines, count) {
      for (const sink of sinks) sink.write(lines, count);
    },
    lend(lines, count, done) {
      let left = sinks.length;
      const oneDone = (): void => {
        if (--left === 0) done();
      };
      for (const sink of sinks) lendLines(sink, lines, count, oneDone);
      if (sinks.length === 0) done();
    },
  };
}

/** Returns a sink with other methods in place of some; the rest of it stays as it is, also where it is an object of a class. */
export function replaceMethods<T extends Sink>(sink: T, own: Partial<Sink & Component>): T {
  return new Proxy(sink, {
    get(target, name) {
      if (name in own) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** Gives a sink only what passes a filter; the rest of it stays as it is. Lines that pass are copied. */
export function filteredSink<T extends Sink>(sink: T, filter: ShapeLines): T {
  const write = (lines: Uint8Array, count: number): void => {
    const passed = filter(lines, count);
    if (passed !== undefined) lendLines(sink, passed.lines, passed.count, () => {});
  };
  return replaceMethods(sink, {
    write,
    lend(lines, count, done) {
      write(lines, count);
      done();
    },
  });
}
