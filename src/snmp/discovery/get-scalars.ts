import { askEach, isMissing } from "../session/ask-each.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { hasNoValue, type VarBind } from "../session/var-bind.ts";

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
  await askEach(session, oids, { type: "get", maxOids }, (i, answer) => {
    if (typeof answer === "number") {
      if (!isMissing(session, answer)) firstError ||= answer;
    } else if (!hasNoValue(answer)) {
      values[i] = answer;
      onValue(i, answer);
    }
  });
  return { values, isComplete: firstError === 0, errorStatus: firstError };
}
