import { errorCode, sameStamp, type FileIo, type FileStamp, type FileState, type OpenFile } from "./file-io.ts";

/** Why the content that a save replaces is kept under another name. */
export type KeepReason = "original" | "edited";

export interface KeptFile {
  readonly reason: KeepReason;
  readonly path: string;
}

/** What is to happen to the content that a save replaces. */
export interface KeepPlan {
  /** The content that was read or written last; undefined when there was none. Any other is a person's, and is kept. */
  readonly expected: FileStamp | undefined;
  /** Where the expected content is kept if a person wrote it; undefined when it was written by a save. */
  readonly originalPath: string | undefined;
  /** Where content that is not expected is kept. */
  readonly editedPath: string;
  /** A name in the same folder that nothing has. */
  readonly asidePath: string;
}

/**
 * Run before the target is replaced: keeps content that is known to be a person's, else holds on to the inode, so that
 * it can be looked at afterwards ({@link judgeAside}): an edit may fall between any check and the replacement.
 *
 * @param old the target as it is.
 * @returns what was kept.
 */
export async function keepBefore(io: FileIo, target: string, plan: KeepPlan, old: FileState): Promise<KeptFile[]> {
  if (!sameStamp(plan.expected, old)) return keepAs(io, target, old, plan.editedPath, "edited");
  if (plan.originalPath !== undefined) {
    const { originalPath } = plan;
    const isTaken = (await ifThere(io.linkState(originalPath))) !== undefined;
    const isKept = isTaken && (await isInode(io, originalPath, old));
    if (isKept) return [];
    if (isTaken) return keepAs(io, target, old, plan.editedPath, "edited");
    return keepAs(io, target, old, originalPath, "original");
  }
  try {
    await io.link(target, plan.asidePath);
    return [];
  } catch {
    // A file system without hard links, perhaps: the last look that can be had is this one.
    const now = await ifThere(io.state(target));
    if (now === undefined || sameStamp(plan.expected, now)) return [];
    return keepAs(io, target, now, plan.editedPath, "edited");
  }
}

/** Run after the target was replaced: keeps what was set aside unless it is what was expected. In doubt it is kept. */
export async function judgeAside(io: FileIo, { expected, editedPath, asidePath }: KeepPlan): Promise<KeptFile[]> {
  try {
    if (sameStamp(expected, await io.linkState(asidePath))) {
      await io.unlink(asidePath);
      return [];
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
  }
  await io.rename(asidePath, editedPath);
  return [{ reason: "edited", path: editedPath }];
}

/** By a second name, or where that cannot be by a copy. */
async function keepAs(
  io: FileIo,
  target: string,
  old: FileState,
  path: string,
  reason: KeepReason,
): Promise<KeptFile[]> {
  try {
    await io.link(target, path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    // A save before this one may have come as far, or the answer was lost.
    if (!(await isInode(io, path, old))) await copyFile(io, target, path, old.mode);
  }
  return [{ reason, path }];
}

/** Copies a file to a name that nothing has, and syncs it. */
async function copyFile(io: FileIo, from: string, to: string, mode: number): Promise<void> {
  const bytes = await io.read(from);
  const file = await io.create(to, mode);
  try {
    await writeAll(file, bytes);
    await file.sync();
  } catch (error) {
    await io.unlink(to).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

export async function writeAll(file: OpenFile, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length;) {
    const taken = await file.write(bytes.subarray(offset));
    if (taken === 0) throw new Error("the file takes no more bytes");
    offset += taken;
  }
}

/** Whether a name is one of this file's. */
export async function isInode(io: FileIo, path: string, { inode, device }: FileStamp): Promise<boolean> {
  const there = await io.linkState(path).catch(() => undefined);
  return there?.inode === inode && there.device === device;
}

/** @returns undefined when there is no such file. */
export async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
