export { Follower, reconnectMs } from "./follow-database.ts";
export { migrate, migrateDatabase, migrateMs, SchemaError, type Schema, type SchemaStep } from "./migrate.ts";
export type { TlsFiles } from "./session.ts";
export { parseServerAddress, showDatabase, showPlace, type ServerAddress } from "./session.ts";
export { messageOf, openSession, stateOf, type DatabaseAccess, type Session } from "./session.ts";
