import type { Schema, SchemaStep } from "../postgresql/index.ts";

const steps: readonly SchemaStep[] = [
  {
    number: 1,
    least: 1,
    sql: `
      create table netgloss.fleet_member (
        fleet text collate "C" not null,
        member text collate "C" not null,
        session uuid not null unique,
        joined timestamptz not null,
        until timestamptz not null,
        primary key (fleet, member)
      ) with (fillfactor = 50);
      comment on table netgloss.fleet_member is
        'Collectors that live. A row is removed once its lease is over by the clock of the database; its session never comes back then.';`,
  },
  {
    number: 2,
    least: 1,
    sql: `
      create table netgloss.fleet_exporter (
        fleet text collate "C" not null,
        sender text collate "C" not null,
        exporter text collate "C" not null,
        member text collate "C" not null,
        written timestamptz not null,
        seen timestamptz not null,
        clock double precision not null,
        state text not null,
        primary key (fleet, sender, exporter, member)
      ) with (fillfactor = 70);
      comment on table netgloss.fleet_exporter is
        'What exporters said to each collector: templates, sampling rates, names. A row is written by its member alone.';
      comment on column netgloss.fleet_exporter.clock is
        'The time of writing by the clock of the member, in milliseconds since the epoch: the times in the state are of that clock.';`,
  },
];

/** The tables of all fleets of a database. */
export const fleetSchema: Schema = { table: "fleet_migration", steps, command: "netgloss fleet migrate" };
