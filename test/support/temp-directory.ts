import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** A directory that goes with the test. */
export function tempDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-test-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
