export { FleetConnection, fleetSchema } from "./fleet-connection.ts";
export { Fleet, type FleetOptions, type FleetRequest, type FleetRequests } from "./fleet.ts";
export { Membership, type FleetMember, type LeaseState, type MembershipTables } from "./membership.ts";
export { PostgresqlExporterTable, PostgresqlMembershipTables, PostgresqlShareTables } from "./postgresql-tables.ts";
export {
  ownerOf,
  pointOf,
  Shares,
  type NamePoint,
  type Share,
  type SharesOptions,
  type ShareTables,
  type ShareTaker,
} from "./shares.ts";
