import { createPacer } from "../definitions/pacer.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { VarBind } from "../session/var-bind.ts";
import { walk, type WalkOptions } from "../session/walk.ts";
import type { Clock } from "../../report/index.ts";
import type { SnmpValue } from "../values/snmp-value.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";

/** One row of a table, or the one of a group of scalars. */
export interface PolledRow {
  /** What follows the attributes' OIDs; [0] for scalars. */
  readonly suffix: Oid;
  /** The suffix as text, without a leading dot. */
  readonly key: string;
  /** By the position of the column; undefined where the row has no value. */
  readonly values: (SnmpValue | undefined)[];
}

export interface PolledRows {
  /** In the order of their suffixes as the device gives them. */
  readonly rows: readonly PolledRow[];
  /** Whether the device answered for every column to its end. */
  readonly isComplete: boolean;
  /** What went wrong first. */
  readonly detail: string | undefined;
  /** The request that failed, where one did. */
  readonly error: SnmpError | undefined;
}

/** Reads an object as it stands. What was read before a failure is there. Never rejects. */
export async function pollObject(
  session: Session,
  object: PolledObject,
  options: WalkOptions & { readonly maxOids: number },
  clock: Clock,
): Promise<PolledRows> {
  return object.isTable ? pollTable(session, object, options, clock) : pollScalars(session, object, options.maxOids);
}

async function pollScalars(session: Session, object: PolledObject, maxOids: number): Promise<PolledRows> {
  const oids = object.columns.map(({ oid }) => [...oid, 0]);
  const values: (SnmpValue | undefined)[] = oids.map(() => undefined);
  let isComplete = false;
  let error: SnmpError | undefined;
  try {
    ({ isComplete } = await getScalars(session, oids, maxOids, (i, value) => void (values[i] = valueOf(value))));
  } catch (thrown) {
    if (!(thrown instanceof SnmpError)) throw thrown;
    error = thrown;
  }
  const rows = values.some((value) => value !== undefined) ? [{ suffix: [0], key: "0", values }] : [];
  const detail = isComplete ? undefined : (error?.message ?? "the device answered with an error");
  return { rows, isComplete, detail, error };
}

/** An agent that makes up rows for ever must not fill the memory. */
const maxTableValues = 1_000_000;

async function pollTable(
  session: Session,
  object: PolledObject,
  options: WalkOptions,
  clock: Clock,
): Promise<PolledRows> {
  const roots = object.walked.map((column) => (object.columns[column] as PolledColumn).oid);
  const rows = new Map<string, PolledRow>();
  const pacer = createPacer(clock);
  const paced: Session = {
    ...session,
    // Big tables share the event loop with everything else.
    async getNext(oids) {
      if (pacer.isDue()) await pacer.rest();
      return session.getNext(oids);
    },
    async getBulk(...request) {
      if (pacer.isDue()) await pacer.rest();
      return session.getBulk(...request);
    },
  };
  const summary = await walk(
    paced,
    roots,
    (root, varbinds) => {
      const length = (roots[root] as Oid).length;
      for (const varbind of varbinds) {
        const suffix = varbind.oid.slice(length);
        const key = suffix.join(".");
        let row = rows.get(key);
        if (row === undefined) rows.set(key, (row = { suffix, key, values: object.columns.map(() => undefined) }));
        row.values[object.walked[root] as number] = valueOf(varbind);
      }
    },
    { ...options, maxValues: Math.ceil(maxTableValues / roots.length) },
  );
  return { rows: [...rows.values()], isComplete: summary.isComplete, detail: summary.detail, error: summary.error };
}

/** The value without its identifier, which would be the greater part of what a table takes in memory. */
function valueOf({ type, value }: VarBind): SnmpValue {
  return { type, value };
}
