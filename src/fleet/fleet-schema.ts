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
];

/** The tables of all fleets of a database. */
export const fleetSchema: Schema = { table: "fleet_migration", steps, command: "netgloss fleet migrate" };
