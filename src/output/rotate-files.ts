import { errorCode } from "./errno.ts";
import type { OutputIo } from "./output-io.ts";

/**
 * Frees a path by renaming: `path` becomes `path.1`, that one `path.2`, up to `path.<kept>`; the oldest is replaced when
 * all exist. The renames begin at the old end, so one that fails leaves no file without a name and a later call goes on.
 */
export async function rotateFiles(io: OutputIo, path: string, kept: number): Promise<void> {
  let free = 1;
  while (free < kept && (await exists(io, `${path}.${free}`))) free++;
  for (let i = free; i > 1; i--) await io.rename(`${path}.${i - 1}`, `${path}.${i}`);
  await io.rename(path, `${path}.1`);
}

async function exists(io: OutputIo, path: string): Promise<boolean> {
  try {
    await io.state(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
