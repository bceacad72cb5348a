import { askEach, isMissing, type Session } from "../session/session.ts";
import { compareOids, oidStartsWith, type Oid, isException } from "../session/ber.ts";
import {
  type Attribute,
  type Definitions,
  type Device,
  type ObjectDefinition,
  contextsOf,
  deviceGroupsOf,
  reachedObjects,
} from "../definitions/definitions.ts";
import { quote } from "../../base/text/index.ts";
import { errorStatusName, SnmpError } from "../session/snmp-error.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import type { DevicePlan, PlannedObject } from "./device-plan.ts";
import { describeDevice } from "./describe-device.ts";
import { identify, openSession, refusal, readMarks } from "./identify.ts";
import { learnInterfaces } from "./learn-interfaces.ts";
import type { MemoryBudget } from "../limits.ts";

/** The result of a discovery. */
export type DiscoveryOutcome = { readonly ok: true } | { readonly ok: false; readonly error: string };

export type DiscoveryState = "queued" | "running";

interface Job {
  readonly outcome: Promise<DiscoveryOutcome>;
  readonly resolve: (outcome: DiscoveryOutcome) => void;
  timer: NodeJS.Timeout | undefined;
  /** The time at which the timer ends. */
  at: number;
}

const cancelled: DiscoveryOutcome = { ok: false, error: "cancelled" };

/** Runs discoveries: one at a time for each device, and a limited number at the same time. */
export class DiscoveryQueue {
  readonly #run: (deviceId: string) => Promise<DiscoveryOutcome>;
  readonly #now: () => number;
  readonly #maxRunning: number;
  readonly #waiting = new Map<string, Job>();
  readonly #running = new Map<string, Job>();
  /** The devices whose time has come, in that order. */
  readonly #ready: string[] = [];
  #isStopped = false;

  constructor(run: (deviceId: string) => Promise<DiscoveryOutcome>, now: () => number, maxRunning: number) {
    this.#run = run;
    this.#now = now;
    this.#maxRunning = maxRunning;
  }

  /** Removes a device from the queue. */
  cancel(deviceId: string): void {
    const job = this.#waiting.get(deviceId);
    if (job === undefined) return;
    this.#waiting.delete(deviceId);
    clearTimeout(job.timer);
    const at = this.#ready.indexOf(deviceId);
    if (at >= 0) this.#ready.splice(at, 1);
    job.resolve(cancelled);
  }

  /**
   * Requests a discovery. If one is queued, the call joins it, and it begins at the earlier time. If one is running, the call joins it,
   * unless `afresh` is true. Then another one follows, because the things to look for have changed.
   *
   * @param delayMs the least delay.
   */
  request(deviceId: string, delayMs: number, afresh: boolean): Promise<DiscoveryOutcome> {
    if (this.#isStopped) return Promise.resolve(cancelled);
    const active = this.#running.get(deviceId);
    if (active !== undefined && !afresh) return active.outcome;
    const at = this.#now() + delayMs;
    const queued = this.#waiting.get(deviceId);
    if (queued !== undefined) {
      if (queued.timer !== undefined && at < queued.at) this.#schedule(deviceId, queued, at);
      return queued.outcome;
    }
    let resolve: Job["resolve"] = () => {};
    const outcome = new Promise<DiscoveryOutcome>((settle) => (resolve = settle));
    const job: Job = { outcome, resolve, timer: undefined, at };
    this.#waiting.set(deviceId, job);
    this.#schedule(deviceId, job, at);
    return outcome;
  }

  /** Returns the state; undefined if there is no discovery. */
  state(deviceId: string): DiscoveryState | undefined {
    return this.#running.has(deviceId) ? "running" : this.#waiting.has(deviceId) ? "queued" : undefined;
  }

  /** Removes all devices from the queue and waits for running discoveries. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const deviceId of this.#waiting.keys()) this.cancel(deviceId);
    await Promise.all([...this.#running.values()].map((job) => job.outcome));
  }

  counts(): { readonly queued: number; readonly running: number } {
    return { queued: this.#waiting.size, running: this.#running.size };
  }

  async #runJob(deviceId: string, job: Job): Promise<void> {
    job.resolve(await this.#run(deviceId));
    this.#running.delete(deviceId);
    this.#startReady();
  }

  #startReady(): void {
    for (let i = 0; i < this.#ready.length && this.#running.size < this.#maxRunning;) {
      const deviceId = this.#ready[i] as string;
      if (this.#running.has(deviceId)) {
        i++;
        continue;
      }
      this.#ready.splice(i, 1);
      const job = this.#waiting.get(deviceId);
      if (job === undefined) continue;
      this.#waiting.delete(deviceId);
      this.#running.set(deviceId, job);
      void this.#runJob(deviceId, job);
    }
  }

  #schedule(deviceId: string, job: Job, at: number): void {
    job.at = at;
    clearTimeout(job.timer);
    job.timer = setTimeout(
      () => {
        job.timer = undefined;
        this.#ready.push(deviceId);
        this.#startReady();
      },
      Math.max(0, at - this.#now()),
    );
  }
}

interface ProbedColumns {
  /** By the position of the OID, true if it has an instance. */
  readonly hasInstance: readonly boolean[];
  /** By the position of the OID, the error status of the agent's answer. It is unknown whether such an OID has an instance. */
  readonly errors: ReadonlyMap<number, number>;
}

/** The OIDs per request of a weak agent. If an agent takes no more, OIDs that an answer has passed over are not requested. */
const fewOids = 8;

/**
 * Finds the OIDs that have an instance, by GetNext for many at a time.
 *
 * @throws SnmpError if the agent stops answering.
 */
async function probeColumns(session: Session, oids: readonly Oid[], maxOids: number): Promise<ProbedColumns> {
  const hasInstance = oids.map(() => false);
  const errors = new Map<number, number>();
  const order = [...oids.keys()].sort((a, b) => compareOids(oids[a] as Oid, oids[b] as Oid));
  const sorted = order.map((i) => oids[i] as Oid);
  const isNarrow = (): boolean => session.limits.oids(maxOids) <= fewOids;

  /** Yields the positions between an OID and the next instance; these OIDs have no instance. */
  const passedOver = function* (position: number, next: Oid | undefined): Generator<number> {
    for (let i = position + 1; i < sorted.length; i++) {
      const oid = sorted[i] as Oid;
      if (next !== undefined && compareOids(oid, next) > 0) return;
      if (next !== undefined && oidStartsWith(next, oid)) hasInstance[order[i] as number] = true;
      yield i;
    }
  };
  await askEach(session, sorted, { type: "getNext", maxOids, isSpread: isNarrow }, (position, answer) => {
    const i = order[position] as number;
    const oid = sorted[position] as Oid;
    if (typeof answer === "number") {
      // Version 1 has no other way to say that nothing comes after the OID.
      if (!isMissing(session, answer)) errors.set(i, answer);
      else if (isNarrow()) return passedOver(position, undefined);
      return [];
    }
    hasInstance[i] = !isException(answer) && oidStartsWith(answer.oid, oid);
    if (!isNarrow()) return [];
    if (answer.type === "endOfMibView") return passedOver(position, undefined);
    return isException(answer) || compareOids(answer.oid, oid) <= 0 ? [] : passedOver(position, answer.oid);
  });
  return { hasInstance, errors };
}

/** The parts that all discoveries share. */
export interface DiscoverParts {
  readonly client: Pick<SnmpClient, "open">;
  /** The memory for facts about the interfaces of devices. */
  readonly memory: MemoryBudget;
  /** Returns the time in ms since the epoch. */
  readonly now: () => number;
  /** Reports whether to continue with a long table. */
  readonly isWanted: () => boolean;
}

/**
 * Finds out what a device is, and which objects of its groups it has. An object is there if its discovery attribute has an instance,
 * or, without such an attribute, if any of its attributes has one. An attribute is there if it has an instance itself. Nothing on the
 * device is changed.
 *
 * @param before the current plan, from which names and addresses are taken if they cannot be read.
 * @throws SnmpError if no credential is accepted, all answers are errors, or the device stops answering.
 */
export async function discover(
  { client, memory, now, isWanted }: DiscoverParts,
  device: Device,
  definitions: Definitions,
  before?: DevicePlan,
): Promise<DevicePlan> {
  const lease = memory.lease();
  const { session, identity } = await identify(client, device);
  try {
    // The marks are read first, so that a change during the discovery is seen.
    const marks = await readMarks(session, device.maxOids);
    const deviceGroups = deviceGroupsOf(definitions, device, identity.sysObjectId);
    const wanted = [...reachedObjects(definitions, deviceGroups).values()];
    const known = before?.objects ?? new Map<string, PlannedObject>();
    const own = wanted.filter((object) => contextsOf(device, object).length === 0);
    const found = await probeObjects(session, own, device.maxOids, known);
    const openContext = (context: string): Session =>
      openSession(client, device, identity.credential, device.retries, context);
    const inContexts = await probeContexts(openContext, device, wanted, known, isWanted);
    const facts = await describeDevice(session, definitions, identity, device);
    const learnt = await learnInterfaces(session, device, lease, isWanted, before?.learnt);
    return {
      ...identity,
      deviceId: device.id,
      revision: definitions.revision,
      discoveredAt: now(),
      deviceGroups: [...deviceGroups].sort(),
      objects: new Map([...found.objects, ...inContexts.objects].sort(([a], [b]) => (a < b ? -1 : 1))),
      problem: found.problem ?? inContexts.problem,
      learnt,
      facts,
      marks,
    };
  } finally {
    lease.end();
    session.close();
  }
}

interface ProbedObjects {
  readonly objects: ReadonlyMap<string, PlannedObject>;
  readonly problem: string | undefined;
}

/**
 * Probes discovery attributes first: an object whose attribute is missing costs no further request. If the agent answers with an error,
 * the result of the previous plan stays.
 *
 * @throws SnmpError `refused` if all answers are errors.
 */
async function probeObjects(
  session: Session,
  wanted: readonly ObjectDefinition[],
  maxOids: number,
  before: ReadonlyMap<string, PlannedObject>,
): Promise<ProbedObjects> {
  const gated = wanted.filter(({ discoveryAttribute }) => discoveryAttribute !== undefined);
  const gates = gated.map(({ discoveryAttribute }) => (discoveryAttribute as Attribute).oid);
  const opened = await probeColumns(session, gates, maxOids);
  const absent = new Set(gated.filter((_, i) => !opened.hasInstance[i] && !opened.errors.has(i)));
  const asked = wanted.filter((object) => !absent.has(object));
  const attributes = asked.flatMap((object) =>
    [...object.attributes.values()].map((attribute) => ({ object, attribute })),
  );
  const oids = attributes.map(({ attribute }) => attribute.oid);
  const { hasInstance, errors } = await probeColumns(session, oids, maxOids);
  const wasThere = (i: number): boolean => {
    const { object, attribute } = attributes[i] as (typeof attributes)[number];
    return before.get(object.id)?.attributes.get(attribute.name) === attribute.oidText;
  };
  const supported = new Set(
    attributes.filter((_, i) => hasInstance[i] || (errors.has(i) && wasThere(i))).map(({ attribute }) => attribute),
  );
  const planned = asked.map((object) => [object.id, planObject(object, supported)] as const);
  const objects = new Map(planned.filter(([, { attributes: found }]) => found.size > 0));
  const failed = errors.size + opened.errors.size;
  const [status] = [...errors.values(), ...opened.errors.values()];
  if (status === undefined) return { objects, problem: objects.size > 0 ? undefined : nothingFound };
  if (!hasInstance.includes(true)) throw refusal(status);
  const problem = `${failed} questions of the discovery were answered with an error (${errorStatusName(status)})`;
  return { objects, problem };
}

/** Probes the objects that are read in contexts of their own. A context without an answer has none of them. */
async function probeContexts(
  open: (context: string) => Session,
  device: Device,
  wanted: readonly ObjectDefinition[],
  before: ReadonlyMap<string, PlannedObject>,
  isWanted: () => boolean,
): Promise<ProbedObjects> {
  const objects = new Map<string, PlannedObject>();
  let problem: string | undefined;
  for (const context of new Set(wanted.flatMap((object) => contextsOf(device, object)))) {
    if (!isWanted()) break;
    const asked = wanted.filter((object) => contextsOf(device, object).includes(context));
    let session: Session | undefined;
    try {
      session = open(context);
      const found = await probeObjects(session, asked, device.maxOids, before);
      for (const [id, { index, attributes }] of found.objects) {
        const earlier = objects.get(id);
        const joined = new Map([...(earlier?.attributes ?? []), ...attributes]);
        objects.set(id, { index, attributes: joined, contexts: [...(earlier?.contexts ?? []), context] });
      }
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      problem ??= `context ${quote(context)}: ${error.message}`;
    } finally {
      session?.close();
    }
  }
  return { objects, problem };
}

const nothingFound =
  "the device answers, but shows none of the objects of its device groups: the view of its community or user may not have them";

function planObject(object: ObjectDefinition, supported: ReadonlySet<Attribute>): PlannedObject {
  return {
    index: object.index.map(({ type, oidText, field, syntax }) => ({ type, oidText, field, syntax: syntax.name })),
    attributes: new Map(
      [...object.attributes.values()]
        .filter((attribute) => supported.has(attribute))
        .map(({ name, oidText }) => [name, oidText]),
    ),
    contexts: [],
  };
}
