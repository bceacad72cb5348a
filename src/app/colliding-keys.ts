import { createKeyConflicts } from "../enrich/index.ts";
import type { Log } from "../base/report/index.ts";
import { checkMetadataFile } from "../metadata/index.ts";

/** Larger files take longer than the main thread has; `netgloss udm check` judges them. */
const maxBytes = 2 * 1024 * 1024;
const maxLogged = 8;

/** Says of a metadata file that was read where it has keys that get in the way of fields of records. */
export function createCollidingKeysLog(path: string, log: Log): (bytes: Uint8Array) => void {
  const conflictOf = createKeyConflicts();
  return (bytes) => {
    if (bytes.length > maxBytes) return;
    const conflicts = new Set<string>();
    const { findings } = checkMetadataFile(bytes, (key) => {
      const conflict = conflictOf(key);
      if (conflict !== undefined) conflicts.add(conflict);
      return conflict;
    });
    const found = findings.filter(({ message }) => conflicts.has(message));
    for (const { line, column, message } of found.slice(0, maxLogged)) {
      log.warn({ place: `${path}:${line}:${column}` }, message);
    }
    if (found.length > maxLogged) {
      log.warn({ path, more: found.length - maxLogged }, "more metadata keys collide: see `netgloss udm check`");
    }
  };
}
