import { networkOfKey } from "../../ip/index.ts";
import { createLineBudget, type Clock, type Log, type LogFields } from "../../report/index.ts";
import type { UdmWrite, WriteOrigin } from "../model/udm-store.ts";

/** Keys that a line lists. */
const maxKeys = 10;

/** Says who changed what. */
export interface AuditLog {
  /** A write that is saved. @param revision version of the state that it led to. */
  written(writes: readonly UdmWrite[], revision: number, origin: WriteOrigin): void;
  /** Logs how many writes had no line of their own since the last one. */
  flush(): void;
}

/**
 * One line at level info for each write, as long as they are few. Of masses of writes most have their line at level debug;
 * the next line at level info says how many they were.
 *
 * @param after runs an action once after a time in milliseconds.
 */
export function createAuditLog(log: Log, clock: Clock, after: (action: () => void, ms: number) => unknown): AuditLog {
  const hasBudget = createLineBudget(clock);
  let skipped = { writes: 0, entries: 0 };
  let isFlushDue = false;

  const flush = (): void => {
    isFlushDue = false;
    if (skipped.writes === 0) return;
    log.info(skipped, "more metadata was written; each write has a line at level debug");
    skipped = { writes: 0, entries: 0 };
  };

  return {
    flush,
    written(writes, revision, origin) {
      if (writes.length === 0) return;
      const isShown = hasBudget();
      const method = origin.method ?? writes[0]?.op;
      const keys = writes.slice(0, maxKeys).map(({ key }) => key.text);
      const fields: LogFields = { ...origin, method, keys, entries: writes.length, revision };
      if (isShown) {
        flush();
        log.info(fields, "metadata written");
      } else {
        skipped = { writes: skipped.writes + 1, entries: skipped.entries + writes.length };
        log.debug(fields, "metadata written");
        if (!isFlushDue) after(flush, 1000);
        isFlushDue = true;
      }
      warnOfHostBits(log, isShown ? "warn" : "debug", writes);
    },
  };
}

function warnOfHostBits(log: Log, level: "warn" | "debug", writes: readonly UdmWrite[]): void {
  const keys: { readonly key: string; readonly covers: string }[] = [];
  let entries = 0;
  for (const { op, key } of writes) {
    const covers = op === "delete" ? undefined : networkOfKey(key);
    if (covers === undefined) continue;
    entries++;
    if (keys.length < maxKeys) keys.push({ key: key.text, covers });
  }
  if (entries > 0) log[level]({ keys, entries }, hostBitsWarning);
}

export const hostBitsWarning = "a prefix with host bits covers its whole network, not only the address";
