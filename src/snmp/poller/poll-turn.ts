import { givesNames } from "./device-names.ts";
import { givesRowNames } from "./row-names.ts";
import type { ReadObject } from "./fill-overridden.ts";
import type { Limiter } from "./limiter.ts";
import type { NameTurn } from "./name-order.ts";
import type { PolledRows } from "./poll-object.ts";
import type { PolledObject } from "./poll-plan.ts";

/** The steps of one object in a poll. */
export interface PollSteps {
  /** @returns undefined when it cannot be read now. */
  readonly read: (object: PolledObject) => Promise<ReadObject | undefined>;
  /** Reads what depends on other objects. @returns undefined when nothing is to be written. */
  readonly complete: (read: ReadObject, readingOf: ReadingOf) => Promise<PolledRows | undefined>;
  /** Called when the names have been read, before they are used. */
  readonly confirm: () => Promise<unknown>;
  readonly write: (object: PolledObject, polled: PolledRows) => Promise<void>;
  /** Nothing is kept of the object any more. */
  readonly done: (object: PolledObject) => void;
}

export type ReadingOf = (objectId: string) => Promise<ReadObject | undefined>;

/** Whether the records of a poll wait for the object: names of interfaces or of other rows come from it. */
export function isNaming(object: PolledObject): boolean {
  return givesNames(object) || givesRowNames(object);
}

/**
 * Takes all objects of a poll through their steps: each is written when the names that the poll reads are known.
 *
 * What others wait for is read first: names, and objects whose attributes override those of others. The rest keeps its
 * place in the limiter until it is written, so that a device has no more tables in memory than are read at a time.
 */
export async function runPollTurn(
  objects: readonly PolledObject[],
  names: NameTurn,
  limiter: Limiter,
  { read, complete, confirm, write, done }: PollSteps,
): Promise<void> {
  const overriding = new Set(objects.flatMap(({ overridden }) => overridden.map(({ by }) => by.object)));
  const isFirst = (object: PolledObject): boolean =>
    isNaming(object) || object.overridden.length > 0 || overriding.has(object.id);
  const readings = new Map<string, Promise<ReadObject | undefined>>();
  const readingOf: ReadingOf = async (id) => readings.get(id);
  const completed = async (reading: Promise<ReadObject | undefined>): Promise<PolledRows | undefined> => {
    const found = await reading;
    return found && complete(found, readingOf);
  };
  const finish = async (object: PolledObject, ready: Promise<PolledRows | undefined>): Promise<void> => {
    try {
      const rows = await ready;
      // What it overrides may take values away from it.
      if (overriding.has(object.id)) await overriddenDone();
      await names.known();
      if (rows !== undefined) await write(object, rows);
    } finally {
      done(object);
    }
  };
  const first = objects.filter(isFirst);
  for (const object of first)
    readings.set(
      object.id,
      limiter.run(() => read(object)),
    );
  const ready = new Map(first.map((object) => [object, completed(readings.get(object.id) as ReturnType<ReadingOf>)]));
  const overriddenDone = async (): Promise<unknown> =>
    Promise.allSettled(
      first.filter(({ overridden }) => overridden.length > 0).map(async (object) => ready.get(object)),
    );
  const naming = first.filter(isNaming);
  const learn = async (): Promise<void> => {
    await Promise.all(naming.map(async (object) => ready.get(object)));
    if (naming.length > 0) await confirm();
    naming.forEach(() => names.learned());
  };
  const firstDone = Promise.all([learn(), ...Array.from(ready, ([object, rows]) => finish(object, rows))]);
  await Promise.allSettled(ready.values());
  await names.known();
  const rest = objects.filter((object) => !isFirst(object));
  await Promise.all([firstDone, ...rest.map((object) => limiter.run(() => finish(object, completed(read(object)))))]);
}
