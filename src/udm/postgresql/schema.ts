import type { Schema, SchemaStep } from "../../postgresql/index.ts";

/** Notifications of commits come under this name; each carries the number of the last commit and the time of the server. */
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
];

/** What a trial writes, and rolls back. */
export const trialRows = `insert into netgloss.udm_entry (key, entry) values ('', '{}');
  insert into netgloss.udm_change (number, position, key) values (0, 0, '')`;

/** The tables of metadata. */
export const udmSchema: Schema = { table: "migration", steps, command: "netgloss udm migrate" };
