import {
  type Schema,
  type SchemaStep,
  migrateDatabase as migrateSchema,
  type ServerAddress,
  type TlsFiles,
} from "../../base/postgresql/index.ts";
import type { StoreOptions } from "../store/collector-store.ts";

/** The channel of notifications of commits. Each has the number of the last commit and the server's time. */
export const channel = "netgloss_udm";

const steps: readonly SchemaStep[] = [
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
  {
    // Keys that spell IPv4-mapped addresses become IPv4 keys. If the IPv4 key also has an entry, the mapped one is deleted by a commit of the
    // log, so that the history has it. The store gets a new id, so that collectors read all entries again.
    number: 2,
    least: 1,
    sql: `
      create function netgloss.ipv4_key(key text) returns text language sql immutable strict as $$
        select case
          when key ~ '^::ffff:[0-9.]+/(9[6-9]|1[0-2][0-9])$'
            then substring(key from '^::ffff:([0-9.]+)/') || '/' || (substring(key from '/([0-9]+)$')::int - 96)
          when key ~ '^::ffff:[0-9.]+(-::ffff:[0-9.]+)?$' then replace(key, '::ffff:', '')
          else key end $$;
      create function netgloss.ipv4_entry(entry json, key text) returns json language sql immutable strict as $$
        select (replace(left(entry::text, length(key) + 9), key, netgloss.ipv4_key(key)) || substr(entry::text, length(key) + 10))::json $$;
      do $$
      declare
        commit_number bigint;
        twice integer;
      begin
        perform from netgloss.udm_state for update;
        update netgloss.udm_change set key = netgloss.ipv4_key(key),
          before = netgloss.ipv4_entry(before, key), after = netgloss.ipv4_entry(after, key)
          where key like '::ffff:%' and key <> netgloss.ipv4_key(key);
        if not exists (select from netgloss.udm_entry where key like '::ffff:%' and key <> netgloss.ipv4_key(key)) then
          return;
        end if;
        select count(*) into twice from netgloss.udm_entry m join netgloss.udm_entry e on e.key = netgloss.ipv4_key(m.key)
          where m.key like '::ffff:%' and m.key <> e.key;
        if twice > 0 then
          update netgloss.udm_state set last_number = last_number + 1 returning last_number into commit_number;
          insert into netgloss.udm_commit (number, save, at, author, method, collector, layer, entries, is_cut, bytes)
            values (commit_number, gen_random_uuid(), now(), 'migration', 'MergeMappedKeys', '', null, twice, false, 0);
          insert into netgloss.udm_change (number, position, key, before, before_file_only)
            select commit_number, row_number() over (order by m.key) - 1, e.key, netgloss.ipv4_entry(m.entry, m.key), m.file_only
            from netgloss.udm_entry m join netgloss.udm_entry e on e.key = netgloss.ipv4_key(m.key)
            where m.key like '::ffff:%' and m.key <> e.key;
          delete from netgloss.udm_entry m using netgloss.udm_entry e
            where e.key = netgloss.ipv4_key(m.key) and m.key like '::ffff:%' and m.key <> e.key;
        end if;
        update netgloss.udm_entry set key = netgloss.ipv4_key(key), entry = netgloss.ipv4_entry(entry, key)
          where key like '::ffff:%' and key <> netgloss.ipv4_key(key);
        update netgloss.udm_state set store = gen_random_uuid();
      end $$;
      alter table netgloss.udm_entry add constraint ipv4_keys_as_ipv4 check (key not like '::ffff:%' or key = netgloss.ipv4_key(key));`,
  },
  {
    // Adds scopes. Existing entries are global: their scope is empty, and their changes keep their numbers. An older collector would take
    // entries of scopes for global ones. The renamed column ends its session, and the next session is refused.
    number: 3,
    least: 3,
    sql: `
      alter table netgloss.udm_entry add column scope text collate "C" not null default '';
      alter table netgloss.udm_entry drop constraint udm_entry_pkey;
      alter table netgloss.udm_entry add primary key (scope, key);
      comment on column netgloss.udm_entry.scope is 'Empty: global.';
      alter table netgloss.udm_commit rename column is_cut to without_changes;
      alter table netgloss.udm_commit add column scope text collate "C" not null default '', add column change bigint,
        add column definition json;
      update netgloss.udm_commit set change = number;
      alter table netgloss.udm_commit alter column change set not null;
      comment on column netgloss.udm_commit.change is 'The number of the change in the history of its scope.';
      comment on column netgloss.udm_commit.definition is 'What happened to the definition of a scope.';
      create unique index udm_commit_by_change on netgloss.udm_commit (scope, change);
      create table netgloss.udm_numbering (
        scope text collate "C" primary key,
        last_change bigint not null
      );
      comment on table netgloss.udm_numbering is 'The number of the last change of each scope.';
      insert into netgloss.udm_numbering select '', last_number from netgloss.udm_state;
      create table netgloss.udm_scope (
        name text collate "C" primary key,
        place bigint not null,
        definition json not null
      );
      comment on table netgloss.udm_scope is 'Scopes, tried in the order of their places. Read them; change them through a collector.';`,
  },
];

/** The SQL of a trial write, which is rolled back. */
export const trialRows = `insert into netgloss.udm_entry (key, entry) values ('', '{}');
  insert into netgloss.udm_change (number, position, key) values (0, 0, '')`;

/** The tables of metadata. */
export const udmSchema: Schema = { table: "migration", steps, command: "netgloss udm migrate" };

/**
 * Creates the tables of metadata in a database, or upgrades them to this version.
 *
 * @returns the steps that were done.
 * @throws Error with the reason why a step is impossible.
 */
export function migrateDatabase(
  {
    address,
    tls,
    timeoutMs,
    collector,
  }: Pick<UdmPostgresqlStoreOptions, "address" | "tls" | "timeoutMs" | "collector">,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const applicationName = `netgloss ${collector}`;
  return migrateSchema(udmSchema, { address, files: tls, timeoutMs, applicationName }, signal);
}

export interface UdmPostgresqlStoreOptions extends StoreOptions {
  readonly address: ServerAddress;
  readonly tls: TlsFiles;
  /** The longest time of a connection attempt or an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** The name of this collector in the history. */
  readonly collector: string;
  /** The directory of the last copy of all entries; "" for no copy. */
  readonly stateDirectory: string;
  /** The path of a metadata file that is written after each change; "" for none. The collector never reads it. */
  readonly exportPath: string;
  /** The approximate limit of the history of changes, in bytes. */
  readonly historyBytes: number;
  /** The set of entries in the database: a name that no scope can have. If left out, the global entries. */
  readonly space?: string;
  /** True where the database also has the scopes. */
  readonly hasScopes?: boolean;
  /** Returns a random number from 0 to 1. */
  readonly random?: () => number;
}
