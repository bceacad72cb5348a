import { errorStatus } from "../session/error-status.ts";
import { oidStartsWith, type Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { isException } from "../session/var-bind.ts";

/** An agent that does not answer a long request is given shorter ones before it is given up. */
const shorter = (size: number): number => (size > 8 ? 8 : 1);

export interface ProbedColumns {
  /** By the position of the OID. */
  readonly hasInstance: readonly boolean[];
  /** The error status that the agent answered with by the position of the OID: whether it has one is not known. */
  readonly errors: ReadonlyMap<number, number>;
}

/**
 * Finds out which OIDs have an instance, by GetNext for many at a time.
 *
 * @throws SnmpError when the agent stops answering.
 */
export async function probeColumns(session: Session, oids: readonly Oid[], maxOids: number): Promise<ProbedColumns> {
  const answers = oids.map(() => false);
  const errors = new Map<number, number>();
  let open = oids.map((_, i) => i);
  let size = Math.max(1, maxOids);
  while (open.length > 0) {
    const asked = open.slice(0, size);
    const done = await probeSome(session, oids, asked, answers, errors);
    if (done === "shorter") size = shorter(size);
    else if (done === "halve") size = Math.max(1, asked.length >> 1);
    else open = open.filter((i) => !done.includes(i));
  }
  return { hasInstance: answers, errors };
}

/** @returns the indexes that are settled, or what to do about the size of requests. */
async function probeSome(
  session: Session,
  oids: readonly Oid[],
  asked: readonly number[],
  answers: boolean[],
  errors: Map<number, number>,
): Promise<readonly number[] | "shorter" | "halve"> {
  try {
    const response = await session.getNext(asked.map((i) => oids[i] as Oid));
    if (response.errorStatus === 0) {
      for (const [at, i] of asked.entries()) {
        const varbind = response.varbinds[at];
        answers[i] = varbind !== undefined && !isException(varbind) && oidStartsWith(varbind.oid, oids[i] as Oid);
      }
      return asked;
    }
    const isTooBig = response.errorStatus === errorStatus.tooBig;
    const faulty = asked.length === 1 ? asked[0] : isTooBig ? undefined : asked[response.errorIndex - 1];
    if (faulty === undefined) return "halve";
    // Version 1 has no other way to say that nothing comes after the OID.
    if (response.errorStatus !== errorStatus.noSuchName) errors.set(faulty, response.errorStatus);
    return [faulty];
  } catch (error) {
    const isLong = asked.length > 1;
    if (isLong && error instanceof SnmpError && (error.code === "timeout" || error.code === "too_big"))
      return "shorter";
    throw error;
  }
}
