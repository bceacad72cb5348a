export type { FleetMember, MembershipTables, Standing } from "./fleet-contract.ts";
export { createExporterTable, type ExporterTable, type ExporterRow, type FoundExporterRow } from "./exporter-table.ts";
export { createFleetConnection, type FleetConnection } from "./fleet-connection.ts";
export { fleetSchema } from "./fleet-schema.ts";
export { createMembershipTables } from "./membership-tables.ts";
export { createFleet, type Fleet, type FleetOptions } from "./fleet.ts";
export { createMembership, type Membership, type MembershipOptions } from "./membership.ts";
