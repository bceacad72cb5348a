import { runAfter } from "../../src/base/file/index.ts";
import { FleetConnection } from "../../src/fleet/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { until } from "./until.ts";

/** A connection of a fleet, once it is there. */
export async function openFleetConnection(url: string, name: string): Promise<FleetConnection> {
  const connection = new FleetConnection({
    access: {
      address: parseServerAddress(url),
      files: {},
      timeoutMs: 5000,
      lockTimeoutMs: 2000,
      applicationName: `netgloss fleet ${name}`,
    },
    after: runAfter,
    random: Math.random,
    log: silentLog,
    clock: systemClock,
  });
  await connection.start();
  await until("a connection", () => connection.isThere());
  return connection;
}
