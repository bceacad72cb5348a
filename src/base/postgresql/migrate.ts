import type { Sql } from "postgres";
import { openSession, stateOf, type DatabaseAccess, type Session } from "./session.ts";

/** One step of a schema. Steps are never changed once they were published; there is no way back. */
export interface SchemaStep {
  readonly number: number;
  /** The lowest last step that a collector must know to write behind this one: others are refused. */
  readonly least: number;
  readonly sql: string;
}

/** Tables that belong together, as steps that make them. All are in the schema `netgloss`. */
export interface Schema {
  /** The table of that schema which holds the steps that were made. */
  readonly table: string;
  readonly steps: readonly SchemaStep[];
  /** The command by which a person makes them, for a message. */
  readonly command: string;
}

/** For making tables; an index of millions of rows takes a while. */
export const migrateMs = 600_000;

/** The key of the advisory lock under which one of several collectors migrates: "netgloss" as bytes, cut. */
const lockKey = 0x6e65_7467;

/** The schema cannot be used; trying again does not help. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/**
 * Makes the tables of a database through a session of its own, or brings them to what this version needs.
 *
 * @returns the steps that were made.
 * @throws Error that says why they cannot be made.
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
 * Brings the schema to the newest step. Several may do so at once.
 *
 * @returns the steps that were made.
 * @throws SchemaError for want of a privilege, or when the schema is of a version that excludes this one.
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

/** @throws SchemaError when a newer version excludes this one. */
async function missingSteps(sql: Sql, { table, steps }: Schema): Promise<readonly SchemaStep[]> {
  // Read from the catalogue: a name that was looked up before and not found would be remembered as missing.
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
