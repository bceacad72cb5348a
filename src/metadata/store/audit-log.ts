import { networkOfKey } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import type { UdmWrite, WriteOrigin } from "../model/udm-store.ts";

/** Keys that a line lists. */
const maxKeys = 10;

/** One line at level info for each write that is saved, however many there are: who, from where, what. */
export function logWrite(log: Log, writes: readonly UdmWrite[], revision: number, origin: WriteOrigin): void {
  if (writes.length === 0) return;
  const method = origin.method ?? writes[0]?.op;
  const keys = writes.slice(0, maxKeys).map(({ key }) => key.text);
  log.info({ ...origin, method, keys, entries: writes.length, revision }, "metadata written");
  warnOfHostBits(log, writes);
}

function warnOfHostBits(log: Log, writes: readonly UdmWrite[]): void {
  const keys: { readonly key: string; readonly covers: string }[] = [];
  let entries = 0;
  for (const { op, key } of writes) {
    const covers = op === "delete" ? undefined : networkOfKey(key);
    if (covers === undefined) continue;
    entries++;
    if (keys.length < maxKeys) keys.push({ key: key.text, covers });
  }
  if (entries > 0) log.warn({ keys, entries }, hostBitsWarning);
}

export const hostBitsWarning = "a prefix with host bits covers its whole network, not only the address";
