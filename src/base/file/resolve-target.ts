import { dirname, resolve } from "node:path";
import { errorCode, type FileIo } from "./file-io.ts";

/** As many as Linux follows. */
const maxLinks = 40;

/**
 * The absolute path that the symbolic links at the end of `path` lead to, so that replacing the file leaves the links
 * alone. The file need not exist; links in the folders before it are left to the system.
 *
 * @throws Error for a loop, or when a link cannot be read.
 */
export async function resolveTarget(io: FileIo, path: string): Promise<string> {
  let target = resolve(path);
  for (let links = 0; links <= maxLinks; links++) {
    try {
      if ((await io.linkState(target)).kind !== "link") return target;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return target;
      throw error;
    }
    target = resolve(dirname(target), await io.readLink(target));
  }
  throw new Error(`${path}: too many symbolic links`);
}
