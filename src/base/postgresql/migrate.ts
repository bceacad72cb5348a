import type { Sql } from "postgres";
import { openSession, stateOf, type DatabaseAccess, type Session } from "./session.ts";

/** One step of a schema. Published steps never change, and cannot be undone. */
export interface SchemaStep {
  readonly number: number;
  /** The lowest final step that a collector must know to write to this schema. Older collectors are refused. */
  readonly least: number;
  readonly sql: string;
}

/** Related tables, with the steps that create them. All are in the schema `netgloss`. */
export interface Schema {
  /** The table that records the completed steps. */
  readonly table: string;
  readonly steps: readonly SchemaStep[];
  /** The command that runs the steps, for messages. */
  readonly command: string;
}

/** Time limit for creating tables in milliseconds. An index over millions of rows takes a while. */
export const migrateMs = 600_000;

/** The key of the advisory lock that allows one migration at a time: the first bytes of "netgloss". */
const lockKey = 0x6e65_7467;

/** Thrown for an unusable schema; a retry does not help. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/**
 * Creates the tables of a database in a session of its own, or updates them for this version.
 *
 * @returns the completed steps.
 * @throws Error that says why they failed.
 */
export async function migrateDatabase(
  schema: Schema,
  access: Omit<DatabaseAccess, "lockTimeoutMs">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const session = await openSession({ ...access, lockTimeoutMs: migrateMs }, signal);
  try {
    return await migrate(session, schema, migrateMs);
  } finally {
    session.close();
  }
}

/**
 * Updates the schema to the newest step. Concurrent calls are safe.
 *
 * @returns the completed steps.
 * @throws SchemaError for a missing privilege, or when a newer schema excludes this version.
 */
export async function migrate(session: Session, schema: Schema, timeoutMs: number): Promise<readonly number[]> {
  try {
    const missing = await session.ask((sql) => missingSteps(sql, schema));
    if (missing.length === 0) return [];
  } catch (error) {
    if (stateOf(error) !== "42501") throw error;
    const why = (error as Error).message;
    throw new SchemaError(`the role may not read the tables (${why}): grant it what the documentation lists`, {
      cause: error,
    });
  }
  try {
    return await session.ask((sql) => makeSteps(sql, schema), timeoutMs);
  } catch (error) {
    await session.ask((sql) => sql.unsafe("rollback")).catch(() => {});
    if (stateOf(error) !== "42501") throw error;
    const message = `the database lacks the tables of this version, and the role may not create them (${(error as Error).message}): run \`${schema.command}\` with a role that may`;
    throw new SchemaError(message, { cause: error });
  }
}

async function makeSteps(sql: Sql, schema: Schema): Promise<readonly number[]> {
  await sql.unsafe("begin");
  await sql`select pg_advisory_xact_lock(${lockKey})`;
  const missing = await missingSteps(sql, schema);
  const [there] = await sql`select from pg_namespace where nspname = 'netgloss'`;
  if (there === undefined) await sql.unsafe("create schema netgloss");
  await sql.unsafe(`create table if not exists netgloss.${schema.table} (
    number integer primary key, least integer not null, applied timestamptz not null default now())`);
  for (const { number, least, sql: text } of missing) {
    await sql.unsafe(text);
    await sql`insert into netgloss.${sql(schema.table)} (number, least) values (${number}, ${least})`;
  }
  await sql.unsafe("commit");
  return missing.map(({ number }) => number);
}

/** Returns the steps still to run. @throws SchemaError when a newer version excludes this one. */
async function missingSteps(sql: Sql, { table, steps }: Schema): Promise<readonly SchemaStep[]> {
  // It reads the catalogue: a name that was once looked up and not found would be remembered as missing.
  const [found] = await sql`select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'netgloss' and c.relname = ${table}`;
  if (found === undefined) return steps;
  const made = await sql<{ number: number; least: number }[]>`select number, least from netgloss.${sql(table)}`;
  const least = Math.max(0, ...made.map((step) => step.least));
  const newestStep = Math.max(0, ...steps.map(({ number }) => number));
  if (least > newestStep) {
    throw new SchemaError(
      `the tables are of a newer version, which does not let this one write (step ${least} of the schema is needed, ${newestStep} is known): update this collector`,
    );
  }
  const numbers = new Set(made.map(({ number }) => number));
  return steps.filter(({ number }) => !numbers.has(number));
}
