export {
  Fleet,
  PostgresqlFleetNotes,
  type FleetNote,
  type NoteAnswer,
  type NoteRound,
  type NoteWrite,
} from "./fleet.ts";
export { Membership, type FleetMember, type FleetTables, type LeaseState, type Share } from "./membership.ts";
export { FleetConnection, fleetSchema, PostgresqlExporterTable, PostgresqlFleetTables } from "./postgresql-tables.ts";
export { PostgresqlFleetStates, type FleetStateRow, type FleetStateWrite } from "./states.ts";
export { ownerOf, pointOf, Shares, type ShareTaker } from "./shares.ts";
