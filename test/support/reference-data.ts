import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * A folder of recordings that are not part of the project: below `NETGLOSS_TEST_DATA`, else in `shared/data` next to the
 * repository. Tests that need one pass `skip` on, so that they say what is missing.
 */
export function referenceData(folder: string): { readonly path: string; readonly skip: string | false } {
  const root = process.env["NETGLOSS_TEST_DATA"] ?? resolve(import.meta.dirname, "../../../../shared/data");
  const path = join(root, folder);
  return { path, skip: existsSync(path) ? false : `no recordings in ${path}` };
}
