import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanUp, type Owner } from "./clean-up.ts";

/** A directory that goes with the test, after what was started later in it is stopped. */
export function tempDirectory(t: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-test-"));
  // What was killed may write for a while. This tries again for 10 s, and lets the test's own threads and processes end.
  cleanUp(t, () => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return directory;
}
