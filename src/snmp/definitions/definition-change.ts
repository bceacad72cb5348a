/**
 * What kind of change a device sees, one for each row of the table of changes:
 *
 * - `added`, `removed`: the device, by `ip:port`
 * - `access`: credentials, version, device groups
 * - `schedule`: intervals, time-outs, maxima, name, enumeration labels
 * - `reading`: an attribute's or index part's name, syntax; tag, metric, overrides, rediscover
 * - `removal`: an object or attribute that is no longer reached
 * - `extension`: an object or attribute that is reached now; OID, index, augments, discovery_attribute
 */
export type ChangeClass = "added" | "removed" | "access" | "schedule" | "reading" | "removal" | "extension";

/**
 * What a change makes a poller do:
 *
 * - `discover`: at once, also as the first time
 * - `stop`: no further poll
 * - `next-poll`: polls go on with the new definitions, without packets of their own
 * - `drop`: what is gone is not polled from now on
 * - `wait`: nothing until the next discovery; reported as pending
 * - `rediscover`: queued with jitter
 */
export type ChangeEffect = "discover" | "stop" | "next-poll" | "drop" | "wait" | "rediscover";

const effects: Readonly<Record<ChangeClass, { readonly plain: ChangeEffect; readonly forced: ChangeEffect }>> = {
  added: { plain: "discover", forced: "discover" },
  removed: { plain: "stop", forced: "stop" },
  access: { plain: "discover", forced: "discover" },
  schedule: { plain: "next-poll", forced: "next-poll" },
  reading: { plain: "next-poll", forced: "rediscover" },
  removal: { plain: "drop", forced: "rediscover" },
  extension: { plain: "wait", forced: "rediscover" },
};

export function changeEffect(change: ChangeClass, forceRediscovery: boolean): ChangeEffect {
  return effects[change][forceRediscovery ? "forced" : "plain"];
}
