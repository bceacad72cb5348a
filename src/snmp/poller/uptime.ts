/** What a device said of its age in one answer. */
export interface UptimeReading {
  /** sysUpTime in hundredths of a second, modulo 2^32; undefined where the device has none. */
  readonly ticks: number | undefined;
  /** snmpEngineBoots, in version 3. */
  readonly boots: number | undefined;
  /** snmpEngineID in hex, in version 3. */
  readonly engineId: string | undefined;
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
}

const wrap = 2 ** 32;
/** How far a device's clock and ours may be apart: a tenth of the time between, and a minute. */
const tolerance = (elapsed: number): number => elapsed / 10 + 6000;

/**
 * Whether the device has restarted between two readings: its engine booted or is another one, or its uptime went
 * back, which every 497 days is the wrap of the counter and no restart. An uptime shorter than the time since the earlier
 * reading is a restart too, though it may be greater than it was.
 */
export function hasRestarted(earlier: UptimeReading, later: UptimeReading): boolean {
  if (earlier.engineId !== undefined && later.engineId !== undefined && earlier.engineId !== later.engineId)
    return true;
  if (earlier.boots !== undefined && later.boots !== undefined && later.boots !== earlier.boots) return true;
  if (earlier.ticks === undefined || later.ticks === undefined) return false;
  const elapsed = (later.at - earlier.at) / 10;
  const expected = earlier.ticks + elapsed;
  if (later.ticks >= earlier.ticks) return later.ticks < elapsed - tolerance(elapsed);
  const isWrap = Math.abs(later.ticks + wrap - expected) <= tolerance(elapsed);
  return !isWrap;
}

/** Agents have parts of their tables later than others: net-snmp has the load of processors after a minute. */
const settledMs = 300_000;
/** A discovery takes some seconds; both clocks may differ by as much. */
const discoveryMs = 10_000;

/**
 * Whether a device that is up for `uptimeMs` has settled since its discovery, so that it may have more now. It has not where
 * it was up for long already, or started after it.
 */
export function hasSettledSince(sinceDiscoveryMs: number, uptimeMs: number): boolean {
  const ageMs = uptimeMs - sinceDiscoveryMs;
  return uptimeMs >= settledMs && ageMs < settledMs && ageMs > -discoveryMs;
}
