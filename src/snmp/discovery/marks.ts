import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { getScalars } from "./get-scalars.ts";

/** What a device changes when it has other interfaces or modules: IF-MIB (RFC 2863), ENTITY-MIB (RFC 6933). */
export const marks: readonly (readonly [name: string, oid: Oid])[] = [
  ["ifNumber", [1, 3, 6, 1, 2, 1, 2, 1, 0]],
  ["ifTableLastChange", [1, 3, 6, 1, 2, 1, 31, 1, 5, 0]],
  ["entLastChangeTime", [1, 3, 6, 1, 2, 1, 47, 1, 4, 1, 0]],
];

/** Values of the marks that a device has, by name. */
export type Marks = ReadonlyMap<string, string>;

/** Reads all marks; undefined when the device does not answer. */
export async function readMarks(session: Session, maxOids: number): Promise<Marks | undefined> {
  try {
    const oids = marks.map(([, oid]) => oid);
    const { values } = await getScalars(session, oids, maxOids);
    return new Map(marks.flatMap(([name], i) => (values[i] === undefined ? [] : [[name, String(values[i].value)]])));
  } catch (error) {
    if (error instanceof SnmpError && error.code !== "closed") return undefined;
    throw error;
  }
}
