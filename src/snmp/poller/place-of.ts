import { hash } from "node:crypto";

/** A place from 0 to below 1 that is a device's own, the same in each run: many devices are spread by it. */
export function placeOf(deviceId: string): number {
  return Number.parseInt(hash("sha256", deviceId, "hex").slice(0, 8), 16) / 2 ** 32;
}

/**
 * When the device was last due by its place on a grid of this interval, whatever process polled it. In milliseconds since
 * the epoch, not after `now`.
 */
export function lastTurn(deviceId: string, intervalMs: number, now: number): number {
  const since = (now - placeOf(deviceId) * intervalMs) % intervalMs;
  return now - (since < 0 ? since + intervalMs : since);
}
