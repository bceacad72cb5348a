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
  {
    number: 3,
    least: 1,
    sql: `
      alter table netgloss.fleet_member add column devices text;
      create table netgloss.fleet_device_list (
        fleet text collate "C" not null,
        digest text not null,
        devices json not null,
        primary key (fleet, digest)
      );
      comment on table netgloss.fleet_device_list is 'Devices that members could poll. Members with the same definitions share a list.';
      create table netgloss.fleet_device (
        fleet text collate "C" not null,
        device text collate "C" not null,
        session uuid,
        member text not null,
        since timestamptz not null,
        kept json,
        primary key (fleet, device)
      ) with (fillfactor = 70);
      comment on table netgloss.fleet_device is
        'Who polls which device: the member with this session, if there is one. What the next one is to know of the device is kept.';`,
  },
];

/** The tables of all fleets of a database. */
export const fleetSchema: Schema = { table: "fleet_migration", steps, command: "netgloss fleet migrate" };
