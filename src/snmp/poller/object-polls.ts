import { givesNames, givesRowNames, type NameTurn } from "./row-names.ts";
import { type ReadObject, type PolledRows, fillOverridden, createStuckZeros, pollObject } from "./poll-object.ts";
import { type Limiter, type MemoryBudget, createMemoryBudget, type MemoryLease } from "../limits.ts";
import type { PolledObject, CompilePollPlan } from "./poll-plan.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { DevicePoller } from "./device-poller.ts";
import type { LearntDeviceOptions, LearntDevice } from "./learnt-device.ts";
import type { RecordWriter } from "./record-writer.ts";
import type { Schedule } from "./poll-times.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import type { DeviceFacts } from "../discovery/describe-device.ts";
import type { Session } from "../session/session.ts";
import type { DeviceCounts } from "./device-counts.ts";
import type { DeviceSessions } from "./device-sessions.ts";

/** The steps of one object in a poll. */
interface PollSteps {
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

type ReadingOf = (objectId: string) => Promise<ReadObject | undefined>;

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
async function runPollTurn(
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

/** What all devices share. Of octets and rates the counters of all devices are within one budget each. */
export interface PollerParts extends LearntDeviceOptions {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly compile: CompilePollPlan;
  /** For the rows of all devices. */
  readonly memory: MemoryBudget;
  /** Resolves when a long table may go on. */
  readonly turn: () => Promise<void>;
  readonly clock: Clock;
  /** Limited in rate. */
  readonly log: Log;
  /** Asks for a discovery; the poller goes on with the plan it has. */
  readonly rediscover: (deviceId: string, reason: string) => void;
  /** A device that was silent answers; it is polled again unless it first has to be discovered. */
  readonly answersAgain: (deviceId: string) => void;
  /** What was read of an object, unless reading it was given up. */
  readonly seen?: ((deviceId: string, object: PolledObject, polled: PolledRows) => void) | undefined;
  /** The names and addresses of a device have changed. */
  readonly learnt: (device: DevicePoller) => void;
}

/** Which objects of a device were larger than what is read of one, and when they are tried again. */
interface OversizedObjects {
  /** Called once for each poll of the object. @returns whether it is to be read this time. */
  mayRead(objectId: string): boolean;
  /** The object was cut off. @returns how many of its next polls are left out. */
  cut(objectId: string): number;
  /** The object was read to its end. */
  fits(objectId: string): void;
}

/** How many polls are left out at most: an hour at a minute's interval. */
const mostLeftOut = 64;

/** Twice as many polls are left out each time, because an endless table costs as much as a thousand devices. */
export function createOversizedObjects(): OversizedObjects {
  const oversized = new Map<string, { step: number; left: number }>();
  return {
    mayRead(objectId) {
      const known = oversized.get(objectId);
      if (known === undefined || known.left === 0) return true;
      known.left--;
      return false;
    },
    cut(objectId) {
      const step = Math.min(mostLeftOut, (oversized.get(objectId)?.step ?? 1) * 2);
      oversized.set(objectId, { step, left: step });
      return step;
    },
    fits: (objectId) => void oversized.delete(objectId),
  };
}

/** What the polls of objects need to know of their device, as it is at that time. */
interface PolledDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  /** `system.host.name` */
  readonly hostName: string;
  readonly facts: DeviceFacts;
  /** Restarts of the device: what was read before one has no names of after it. */
  readonly restarts: number;
  /** Whether it answers and is to be polled. */
  readonly isPolled: boolean;
  readonly isStopped: boolean;
}

/** Reads the objects of a device and writes their records. */
interface ObjectPolls {
  /** Objects of these that may be read: not those that were too large lately. */
  readable(objects: readonly PolledObject[]): readonly PolledObject[];
  /** @param intervalMs of the polls of these objects. */
  run(objects: readonly PolledObject[], turn: NameTurn, intervalMs: number): Promise<void>;
}

interface ObjectPollsParts {
  readonly shared: PollerParts;
  readonly now: () => PolledDevice;
  readonly learnt: LearntDevice;
  readonly sessions: Pick<DeviceSessions, "polling" | "inContext">;
  readonly limiter: Limiter;
  readonly counts: DeviceCounts;
  /** The device did not answer: whether it answers at all is found out. */
  readonly onSilence: () => Promise<unknown>;
  /** Names have been read: whether the device is still what it was is found out. */
  readonly confirm: () => Promise<unknown>;
  /** The names or addresses of the device are others. */
  readonly onNames: () => void;
  readonly note: (message: string) => void;
}

/** For the rows of all tables of a device that are read at the same time. */
const maxDeviceBytes = 48 * 1024 * 1024;

export function createObjectPolls(parts: ObjectPollsParts): ObjectPolls {
  const { shared, now, learnt, sessions, limiter, counts, note } = parts;
  const { clock } = shared;
  const oversized = createOversizedObjects();
  const zeros = createStuckZeros();
  const memory = createMemoryBudget(maxDeviceBytes, shared.memory);
  const isWanted = (): boolean => !now().isStopped;

  const sessionFor = ({ context }: PolledObject): Session | undefined =>
    context === undefined || sessions.polling === undefined ? sessions.polling : sessions.inContext(context);

  /** @returns undefined when the object cannot be read now. */
  async function read(object: PolledObject, lease: MemoryLease): Promise<ReadObject | undefined> {
    const by = sessionFor(object);
    const { device, isPolled } = now();
    if (by === undefined || !isPolled) return undefined;
    const { maxOids, maxRepetitions, maxRows } = device;
    const limits = { maxOids, maxRepetitions, maxRows, memory: lease, turn: shared.turn, isWanted };
    const startedAt = clock.now();
    const polled = await pollObject(by, object, limits, clock);
    if (isWanted() && !polled.isCut && object.context === undefined)
      learnt.countOctets(object, polled, (startedAt + clock.now()) / 2);
    // The other objects need not find out one by one, each with all its retries.
    if (polled.error?.code === "timeout") await parts.onSilence();
    return { object, polled };
  }

  /** Reads what depends on other objects, and learns from what was read. */
  async function complete(readObject: ReadObject, readingOf: ReadingOf): Promise<PolledRows | undefined> {
    const { object } = readObject;
    let { polled } = readObject;
    const by = sessionFor(object);
    const { device } = now();
    if (object.overridden.length > 0 && by !== undefined)
      polled = await fillOverridden(
        by,
        readObject,
        readingOf,
        (work) => limiter.run(work),
        device.maxOids,
        zeros.begin(object.id),
      );
    if (polled.error?.code === "closed") return undefined;
    if (polled.isCut) noteCut(device.id, object, polled);
    else oversized.fits(object.id);
    // The names of an endless table are no names.
    if (isWanted() && !polled.isCut) {
      const { rediscover, areNamesOthers } = learnt.see(object, polled, clock.monotonic());
      if (rediscover !== undefined) shared.rediscover(device.id, rediscover);
      if (areNamesOthers) parts.onNames();
      shared.seen?.(device.id, object, polled);
    }
    if (!polled.isComplete) counts.partial++;
    if (!polled.isOrdered) counts.unordered++;
    if (!polled.isComplete || !polled.isOrdered) note(`${object.id}: ${polled.detail ?? "incomplete"}`);
    return polled;
  }

  function noteCut(device: string, object: PolledObject, { detail }: PolledRows): void {
    counts.cut++;
    const leftOut = oversized.cut(object.id);
    const found = { device, object: object.id, reason: detail, leftOut };
    shared.log.warn(
      found,
      "an SNMP table exceeds the limits of a poll: its records are partial, and its next polls are skipped",
    );
  }

  async function write(
    object: PolledObject,
    polled: PolledRows,
    isOfThisBoot: boolean,
    intervalMs: number,
  ): Promise<void> {
    const { device, definitions, hostName, facts } = now();
    const written = await shared.writer.write(
      {
        deviceId: device.id,
        ip: device.ip,
        hostName,
        names: learnt.nameTables(definitions.enums, isOfThisBoot),
        count: (one, at) => (isOfThisBoot ? learnt.count(one, at, intervalMs) : undefined),
        facts,
      },
      object,
      polled,
      isWanted,
    );
    counts.rows += written.records;
    counts.unreadable += written.unreadable;
    counts.implausible += written.implausible;
    counts.badIndexes += written.badIndexes;
    if (polled.isComplete) counts.vanished += learnt.vanished(object, polled);
  }

  return {
    readable: (objects) => objects.filter(({ id }) => oversized.mayRead(id)),
    async run(objects, turn, intervalMs) {
      const restartsBefore = new Map<string, number>();
      const leases = new Map(objects.map(({ id }) => [id, memory.lease()]));
      await runPollTurn(objects, turn, limiter, {
        read(object) {
          restartsBefore.set(object.id, now().restarts);
          return read(object, leases.get(object.id) as MemoryLease);
        },
        complete,
        confirm: parts.confirm,
        write: (object, polled) => write(object, polled, restartsBefore.get(object.id) === now().restarts, intervalMs),
        done: ({ id }) => leases.get(id)?.end(),
      });
    },
  };
}
