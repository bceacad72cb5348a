import { askEach, isMissing } from "../session/ask-each.ts";
import { compareOids, oidStartsWith, type Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { isException } from "../session/var-bind.ts";
import type { Attribute, Definitions, Device, ObjectDefinition } from "../definitions/definitions.ts";
import { quote } from "../../base/text/index.ts";
import { contextsOf, deviceGroupsOf, reachedObjects } from "../definitions/reach.ts";
import { errorStatusName } from "../session/error-status.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { DevicePlan, PlannedObject } from "./device-plan.ts";
import { describeDevice } from "./describe-device.ts";
import { identify, openSession, refusal } from "./identify.ts";
import { learnInterfaces } from "./learn-interfaces.ts";
import { readMarks } from "./marks.ts";
import type { MemoryBudget } from "./memory-budget.ts";

interface ProbedColumns {
  /** By the position of the OID. */
  readonly hasInstance: readonly boolean[];
  /** The error status that the agent answered with by the position of the OID: whether it has one is not known. */
  readonly errors: ReadonlyMap<number, number>;
}

/** An agent that takes no more OIDs in a request than this is not asked for those that an answer has passed over. */
const fewOids = 8;

/**
 * Finds out which OIDs have an instance, by GetNext for many at a time.
 *
 * @throws SnmpError when the agent stops answering.
 */
async function probeColumns(session: Session, oids: readonly Oid[], maxOids: number): Promise<ProbedColumns> {
  const hasInstance = oids.map(() => false);
  const errors = new Map<number, number>();
  const order = [...oids.keys()].sort((a, b) => compareOids(oids[a] as Oid, oids[b] as Oid));
  const sorted = order.map((i) => oids[i] as Oid);
  const isNarrow = (): boolean => session.limits.oids(maxOids) <= fewOids;

  /** What lies between an OID and the next instance has none. */
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

/** What all discoveries share. */
export interface DiscoverParts {
  readonly client: SnmpClient;
  /** For what devices say of their interfaces. */
  readonly memory: MemoryBudget;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether to go on with a long table. */
  readonly isWanted: () => boolean;
}

/**
 * Finds out what a device is and which of the objects that its groups lead to it has: an object is there when its
 * discovery attribute has an instance, or any attribute where it names none; an attribute when it has one itself. Nothing of the device is changed.
 *
 * @param before the plan that there is: what could not be read of names and addresses is taken over from it.
 * @throws SnmpError when no credential is answered, all answers are errors, or the device stops answering.
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
    // Before all else: what changes while it is asked has to be seen.
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
 * Asks for discovery attributes first: an object whose own is missing costs no further question. What the agent answers
 * with an error stays as it was in the plan before.
 *
 * @throws SnmpError `refused` when there are errors and nothing else.
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

/** The objects that are read in contexts of their own. A context that is not answered has none of them. */
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
