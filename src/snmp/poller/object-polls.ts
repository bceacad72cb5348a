import { givesNames, givesRowNames } from "./learnt-device.ts";
import type { NamingPoll } from "./poll-times.ts";
import { type ReadObject, type PolledRows, fillOverridden, StuckZeros, pollObject } from "./poll-object.ts";
import { type Limiter, MemoryBudget, type MemoryLease } from "../limits.ts";
import type { PolledObject, PlanCompiler } from "./poll-plan.ts";
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
  /** Reads the object. @returns undefined if it cannot be read now. */
  readonly read: (object: PolledObject) => Promise<ReadObject | undefined>;
  /** Reads the parts that depend on other objects. @returns undefined if nothing is to be written. */
  readonly complete: (read: ReadObject, readingOf: ReadingOf) => Promise<PolledRows | undefined>;
  /** Called after the names have been read and before they are used. */
  readonly confirm: () => Promise<unknown>;
  readonly write: (object: PolledObject, polled: PolledRows) => Promise<void>;
  /** Called when the object's data is no longer needed. */
  readonly done: (object: PolledObject) => void;
}

type ReadingOf = (objectId: string) => Promise<ReadObject | undefined>;

/** Reports whether the records of a poll wait for the object, because it names interfaces or other rows. */
export function isNaming(object: PolledObject): boolean {
  return givesNames(object) || givesRowNames(object);
}

/**
 * Takes all objects of a poll through their steps. Each object is written when the names that the poll reads are known.
 *
 * The objects on which others wait are read first: those with names, and those whose attributes override others. The rest keep their
 * place in the limiter until they are written. So a device has no more tables in memory than may be read at a time.
 */
async function runPollTurn(
  objects: readonly PolledObject[],
  names: NamingPoll,
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
      // The objects that it overrides may lose values.
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

/** The parts that all devices share. All devices share one budget for counters of octets and one for rates. */
export interface PollerParts extends LearntDeviceOptions {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly compiler: PlanCompiler;
  /** The memory for the rows of all devices. */
  readonly memory: MemoryBudget;
  /** Resolves when a long table may continue. */
  readonly turn: () => Promise<void>;
  readonly clock: Clock;
  /** A log with a limited rate. */
  readonly log: Log;
  /** Requests a discovery; the poller continues with its plan. */
  readonly rediscover: (deviceId: string, reason: string) => void;
  /** Called when a silent device answers. It is polled again unless a discovery must come first. */
  readonly answersAgain: (deviceId: string) => void;
  /** Gets the rows read from an object, unless the reading was cancelled. */
  readonly seen?: ((deviceId: string, object: PolledObject, polled: PolledRows) => void) | undefined;
  /** Called when the names and addresses of a device have changed. */
  readonly learnt: (device: DevicePoller) => void;
}

/** The most polls to leave out: an hour at an interval of a minute. */
const mostLeftOut = 64;

/**
 * Remembers the objects of a device that exceeded the limit for one table, and when to try them again. The number of polls left out
 * doubles each time, because an endless table costs as much as a thousand devices.
 */
export class OversizedObjects {
  readonly #oversized = new Map<string, { step: number; left: number }>();

  /** Reports whether to read the object this time; call it once for each poll. */
  mayRead(objectId: string): boolean {
    const known = this.#oversized.get(objectId);
    if (known === undefined || known.left === 0) return true;
    known.left--;
    return false;
  }

  /** Notes that the object was cut. @returns the number of its next polls to leave out. */
  cut(objectId: string): number {
    const step = Math.min(mostLeftOut, (this.#oversized.get(objectId)?.step ?? 1) * 2);
    this.#oversized.set(objectId, { step, left: step });
    return step;
  }

  /** Notes that the object was read to its end. */
  fits(objectId: string): void {
    this.#oversized.delete(objectId);
  }
}

/** The current facts about a device that the polls of its objects need. */
interface PolledDevice {
  readonly device: Device;
  readonly definitions: Definitions;
  /** `system.host.name` */
  readonly hostName: string;
  readonly facts: DeviceFacts;
  /** The number of restarts of the device. Rows that were read before a restart must not get names from after it. */
  readonly restarts: number;
  /** True if the device answers and is to be polled. */
  readonly isPolled: boolean;
  readonly isStopped: boolean;
}

interface ObjectPollsParts {
  readonly shared: PollerParts;
  readonly now: () => PolledDevice;
  readonly learnt: LearntDevice;
  readonly sessions: Pick<DeviceSessions, "polling" | "inContext">;
  readonly limiter: Limiter;
  readonly counts: DeviceCounts;
  /** Called when the device did not answer an object; finds out whether it answers at all. */
  readonly onSilence: () => Promise<unknown>;
  /** Called when names have been read; finds out whether the device is still the same. */
  readonly confirm: () => Promise<unknown>;
  /** Called when the names or addresses of the device have changed. */
  readonly onNames: () => void;
  readonly note: (message: string) => void;
}

/** The memory for the rows of all tables of a device that are read at the same time. */
const maxDeviceBytes = 48 * 1024 * 1024;

/** Reads the objects of a device and writes their records. */
export class ObjectPolls {
  readonly #parts: ObjectPollsParts;
  readonly #shared: PollerParts;
  readonly #now: () => PolledDevice;
  readonly #learnt: LearntDevice;
  readonly #sessions: Pick<DeviceSessions, "polling" | "inContext">;
  readonly #limiter: Limiter;
  readonly #counts: DeviceCounts;
  readonly #note: (message: string) => void;
  readonly #clock: Clock;
  readonly #oversized = new OversizedObjects();
  readonly #zeros = new StuckZeros();
  readonly #memory: MemoryBudget;

  constructor(parts: ObjectPollsParts) {
    this.#parts = parts;
    this.#shared = parts.shared;
    this.#now = parts.now;
    this.#learnt = parts.learnt;
    this.#sessions = parts.sessions;
    this.#limiter = parts.limiter;
    this.#counts = parts.counts;
    this.#note = parts.note;
    this.#clock = parts.shared.clock;
    this.#memory = new MemoryBudget(maxDeviceBytes, parts.shared.memory);
  }

  /** Returns those of the objects that may be read now, without those that were too large lately. */
  readable(objects: readonly PolledObject[]): readonly PolledObject[] {
    return objects.filter(({ id }) => this.#oversized.mayRead(id));
  }

  /** @param intervalMs the interval of the polls of these objects. */
  async run(objects: readonly PolledObject[], turn: NamingPoll, intervalMs: number): Promise<void> {
    const restartsBefore = new Map<string, number>();
    const leases = new Map(objects.map(({ id }) => [id, this.#memory.lease()]));
    await runPollTurn(objects, turn, this.#limiter, {
      read: (object) => {
        restartsBefore.set(object.id, this.#now().restarts);
        return this.#read(object, leases.get(object.id) as MemoryLease);
      },
      complete: (readObject, readingOf) => this.#complete(readObject, readingOf),
      confirm: this.#parts.confirm,
      write: (object, polled) =>
        this.#write(object, polled, restartsBefore.get(object.id) === this.#now().restarts, intervalMs),
      done: ({ id }) => leases.get(id)?.end(),
    });
  }

  #isWanted(): boolean {
    return !this.#now().isStopped;
  }

  #sessionFor({ context }: PolledObject): Session | undefined {
    return context === undefined || this.#sessions.polling === undefined
      ? this.#sessions.polling
      : this.#sessions.inContext(context);
  }

  /** @returns undefined if the object cannot be read now. */
  async #read(object: PolledObject, lease: MemoryLease): Promise<ReadObject | undefined> {
    const by = this.#sessionFor(object);
    const { device, isPolled } = this.#now();
    if (by === undefined || !isPolled) return undefined;
    const { maxOids, maxRepetitions, maxRows } = device;
    const limits = {
      maxOids,
      maxRepetitions,
      maxRows,
      memory: lease,
      turn: this.#shared.turn,
      isWanted: () => this.#isWanted(),
    };
    const startedAt = this.#clock.now();
    const polled = await pollObject(by, object, limits, this.#clock);
    if (this.#isWanted() && !polled.isCut && object.context === undefined)
      this.#learnt.countOctets(object, polled, (startedAt + this.#clock.now()) / 2);
    // One check of the device saves the other objects a timeout each, with all retries.
    if (polled.error?.code === "timeout") await this.#parts.onSilence();
    return { object, polled };
  }

  /** Reads the parts that depend on other objects, and learns from the result. */
  async #complete(readObject: ReadObject, readingOf: ReadingOf): Promise<PolledRows | undefined> {
    const { object } = readObject;
    let { polled } = readObject;
    const by = this.#sessionFor(object);
    const { device } = this.#now();
    if (object.overridden.length > 0 && by !== undefined)
      polled = await fillOverridden(
        by,
        readObject,
        readingOf,
        (work) => this.#limiter.run(work),
        device.maxOids,
        this.#zeros.begin(object.id),
      );
    if (polled.error?.code === "closed") return undefined;
    if (polled.isCut) this.#noteCut(device.id, object, polled);
    else this.#oversized.fits(object.id);
    // Names of an endless table are not trustworthy.
    if (this.#isWanted() && !polled.isCut) {
      const { rediscover, areNamesOthers } = this.#learnt.see(object, polled, this.#clock.monotonic());
      if (rediscover !== undefined) this.#shared.rediscover(device.id, rediscover);
      if (areNamesOthers) this.#parts.onNames();
      this.#shared.seen?.(device.id, object, polled);
    }
    if (!polled.isComplete) this.#counts.partial++;
    if (!polled.isOrdered) this.#counts.unordered++;
    if (!polled.isComplete || !polled.isOrdered) this.#note(`${object.id}: ${polled.detail ?? "incomplete"}`);
    return polled;
  }

  #noteCut(device: string, object: PolledObject, { detail }: PolledRows): void {
    this.#counts.cut++;
    const leftOut = this.#oversized.cut(object.id);
    const found = { device, object: object.id, reason: detail, leftOut };
    this.#shared.log.warn(
      found,
      "an SNMP table exceeds the limits of a poll: its records are partial, and its next polls are skipped",
    );
  }

  async #write(object: PolledObject, polled: PolledRows, isOfThisBoot: boolean, intervalMs: number): Promise<void> {
    const { device, definitions, hostName, facts, restarts } = this.#now();
    const written = await this.#shared.writer.write(
      {
        deviceId: device.id,
        ip: device.ip,
        hostName,
        names: this.#learnt.nameTables(definitions.enums, isOfThisBoot),
        count: (one, at) => (isOfThisBoot ? this.#learnt.count(one, at, intervalMs) : undefined),
        facts,
        boot: isOfThisBoot ? restarts : undefined,
      },
      object,
      polled,
      () => this.#isWanted(),
    );
    this.#counts.rows += written.records;
    this.#counts.unreadable += written.unreadable;
    this.#counts.implausible += written.implausible;
    this.#counts.badIndexes += written.badIndexes;
    if (polled.isComplete) this.#counts.vanished += this.#learnt.vanished(object, polled);
  }
}
