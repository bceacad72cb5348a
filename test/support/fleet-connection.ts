import { FleetConnection } from "../../src/fleet/index.ts";
import { parseServerAddress, type DatabaseAccess } from "../../src/base/postgresql/index.ts";
import { silentLog } from "../../src/base/report/index.ts";
import { until } from "./until.ts";

/** How the collector of this name asks a database. */
export function fleetAccess(url: string, name: string, timeoutMs = 5000): DatabaseAccess {
  return {
    address: parseServerAddress(url),
    files: {},
    timeoutMs,
    lockTimeoutMs: Math.min(2000, timeoutMs / 2),
    applicationName: `netgloss fleet ${name}`,
  };
}

/** A connection of a fleet, once it is there. */
export async function openFleetConnection(url: string, name: string): Promise<FleetConnection> {
  const connection = new FleetConnection(fleetAccess(url, name), silentLog);
  await connection.start();
  await until("a connection", () => connection.isThere());
  return connection;
}
