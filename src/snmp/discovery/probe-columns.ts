import { askEach, isMissing } from "../session/ask-each.ts";
import { compareOids, oidStartsWith, type Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { isException } from "../session/var-bind.ts";

export interface ProbedColumns {
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
export async function probeColumns(session: Session, oids: readonly Oid[], maxOids: number): Promise<ProbedColumns> {
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
