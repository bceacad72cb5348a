import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanUp, type Owner } from "./clean-up.ts";

/** A directory that goes with the test, after what was started later in it is stopped. */
export function tempDirectory(t: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-test-"));
  // The threads and processes of a test that failed may still write.
  cleanUp(t, () => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }));
  return directory;
}
