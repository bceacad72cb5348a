import { errorStatus } from "../session/error-status.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { isException, type VarBind } from "../session/var-bind.ts";

export interface Scalars {
  /** By the position of the OID; undefined where the agent has no value. */
  readonly values: readonly (VarBind | undefined)[];
  /** Whether the agent answered for all of them, be it that it has none. */
  readonly isComplete: boolean;
  /** The first error status that it answered with, other than that there is no such instance. */
  readonly errorStatus: number;
}

/**
 * Reads instances by Get, at most `maxOids` in one request. An instance that the agent reports an error about is left
 * out and the others are asked again.
 *
 * @throws SnmpError when the agent does not answer; values read by then are in `onValue`'s hands.
 */
export async function getScalars(
  session: Session,
  oids: readonly Oid[],
  maxOids: number,
  onValue: (index: number, value: VarBind) => void = () => {},
): Promise<Scalars> {
  const values: (VarBind | undefined)[] = oids.map(() => undefined);
  let firstError = 0;
  let open = oids.map((_, i) => i);
  let size = Math.max(1, maxOids);
  while (open.length > 0) {
    const asked = open.slice(0, size);
    const response = await session.get(asked.map((i) => oids[i] as Oid));
    let settled: readonly number[] = asked;
    if (response.errorStatus === 0) {
      for (const [at, i] of asked.entries()) {
        const varbind = response.varbinds[at];
        if (varbind === undefined || isException(varbind)) continue;
        values[i] = varbind;
        onValue(i, varbind);
      }
    } else {
      const faulty = asked.length === 1 ? asked[0] : asked[response.errorIndex - 1];
      if (asked.length > 1 && (faulty === undefined || response.errorStatus === errorStatus.tooBig)) {
        size = asked.length >> 1;
        settled = [];
      } else {
        settled = [faulty as number];
        // Version 1 has no other way to say that an instance does not exist.
        if (response.errorStatus !== errorStatus.noSuchName) firstError ||= response.errorStatus;
      }
    }
    open = open.filter((i) => !settled.includes(i));
  }
  return { values, isComplete: firstError === 0, errorStatus: firstError };
}
