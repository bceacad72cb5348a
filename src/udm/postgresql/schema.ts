import type { Sql } from "postgres";
import { stateOf, type Session } from "./session.ts";

/** One step of the schema. Steps are never changed once they were published; there is no way back. */
interface Migration {
  readonly number: number;
  /** The lowest last step that a collector must know to write behind this one: others are refused. */
  readonly least: number;
  readonly sql: string;
}

/** Notifications of commits come under this name; each carries the number of the last commit and the time of the server. */
export const channel = "netgloss_udm";

const migrations: readonly Migration[] = [
  {
    number: 1,
    least: 1,
    sql: `
      create table netgloss.udm_state (
        only_row boolean primary key default true check (only_row),
        store uuid not null default gen_random_uuid(),
        last_number bigint not null default 0,
        first_number bigint not null default 1,
        log_bytes bigint not null default 0
      ) with (fillfactor = 10);
      comment on table netgloss.udm_state is
        'One row. Whoever commits locks it first, so that numbers have no gaps and become visible in their order.';
      insert into netgloss.udm_state default values;
      create table netgloss.udm_entry (
        key text collate "C" primary key,
        entry json not null,
        file_only json
      );
      comment on table netgloss.udm_entry is 'Metadata entries. Read them; change them through a collector, which numbers changes.';
      create table netgloss.udm_commit (
        number bigint primary key,
        save uuid not null,
        at timestamptz not null,
        author text not null,
        method text not null,
        collector text not null,
        layer text,
        entries integer not null,
        is_cut boolean not null,
        bytes bigint not null
      );
      create table netgloss.udm_change (
        number bigint not null,
        position integer not null,
        key text collate "C" not null,
        before json,
        before_file_only json,
        after json,
        after_file_only json,
        primary key (number, position)
      );
      create index udm_change_by_key on netgloss.udm_change (key, number);`,
  },
];

/** The last step that this version knows. */
export const newestStep = (migrations.at(-1) as Migration).number;

/** Of the advisory lock under which one of several collectors migrates: "netgloss" as bytes, cut. */
const lockKey = 0x6e65_7467;

/** The schema cannot be used; trying again does not help. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/**
 * Brings the schema to the newest step. Several may do so at once.
 *
 * @returns the steps that were made.
 * @throws SchemaError for want of a privilege, or when the schema is of a version that excludes this one.
 */
export async function migrate(session: Session, timeoutMs: number): Promise<readonly number[]> {
  if ((await missingSteps(session.sql)).length === 0) return [];
  try {
    return await session.ask(makeSteps, timeoutMs);
  } catch (error) {
    await session.ask((sql) => sql.unsafe("rollback")).catch(() => {});
    if (stateOf(error) !== "42501") throw error;
    const message = `the database has not the tables of this version, and the role may not make them (${(error as Error).message}): run \`netgloss udm migrate\` with a role that may`;
    throw new SchemaError(message, { cause: error });
  }
}

async function makeSteps(sql: Sql): Promise<readonly number[]> {
  await sql.unsafe("begin");
  await sql`select pg_advisory_xact_lock(${lockKey})`;
  const missing = await missingSteps(sql);
  const [there] = await sql`select from pg_namespace where nspname = 'netgloss'`;
  if (there === undefined) await sql.unsafe("create schema netgloss");
  await sql.unsafe(`create table if not exists netgloss.migration (
    number integer primary key, least integer not null, applied timestamptz not null default now())`);
  for (const { number, least, sql: text } of missing) {
    await sql.unsafe(text);
    await sql`insert into netgloss.migration (number, least) values (${number}, ${least})`;
  }
  await sql.unsafe("commit");
  return missing.map(({ number }) => number);
}

/** @throws SchemaError when a newer version excludes this one. */
async function missingSteps(sql: Sql): Promise<readonly Migration[]> {
  // Read from the catalogue: a name that was looked up before and not found would be remembered as missing.
  const [table] = await sql`select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'netgloss' and c.relname = 'migration'`;
  if (table === undefined) return migrations;
  const made = await sql<{ number: number; least: number }[]>`select number, least from netgloss.migration`;
  const least = Math.max(0, ...made.map((step) => step.least));
  if (least > newestStep) {
    throw new SchemaError(
      `the tables are of a newer version, which does not let this one write (step ${least} of the schema is needed, ${newestStep} is known): update this collector`,
    );
  }
  const numbers = new Set(made.map(({ number }) => number));
  return migrations.filter(({ number }) => !numbers.has(number));
}
