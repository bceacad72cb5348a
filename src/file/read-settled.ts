import { sameStamp, type FileIo, type FileState } from "./file-io.ts";

/** A file that changes while it is read is read again, this often at most. */
const maxReads = 3;

/**
 * Reads a whole file as it is between two writes.
 *
 * @param before the state that was seen last, so that one look is saved.
 * @throws Error for what is no regular file and for one that changes all the time; the errors of {@link FileIo}.
 */
export async function readSettled(
  io: Pick<FileIo, "state" | "read">,
  path: string,
  before: FileState,
): Promise<{ readonly bytes: Uint8Array; readonly state: FileState }> {
  let state = before;
  for (let reads = 0; reads < maxReads; reads++) {
    if (state.kind !== "file") throw new Error("is not a regular file");
    const bytes = await io.read(path);
    const after = await io.state(path);
    if (sameStamp(state, after)) return { bytes, state };
    state = after;
  }
  throw new Error("changes while it is read");
}
