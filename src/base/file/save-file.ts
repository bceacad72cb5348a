import { dirname, resolve, basename, join } from "node:path";
import { createHash } from "node:crypto";
import { errorCode, sameStamp, type FileIo, type FileStamp, type FileState, type OpenFile } from "./file-io.ts";

/** The reason for keeping the replaced content under another name. */
export type KeepReason = "original" | "edited";

export interface KeptFile {
  readonly reason: KeepReason;
  readonly path: string;
}

/** The plan for the content that a save replaces. */
interface KeepPlan {
  /** The stamp of the content last read or written; undefined when there was none. Any other content is a person's and is kept. */
  readonly expected: FileStamp | undefined;
  /** The path for the expected content if a person wrote it; undefined if a save wrote it. */
  readonly originalPath: string | undefined;
  /** The path for unexpected content. */
  readonly editedPath: string;
  /** An unused name in the same folder. */
  readonly asidePath: string;
}

/**
 * Runs before the target is replaced. It keeps content known to be a person's. Else it holds a link to the inode for a later check ({@link judgeAside}),
 * because an edit may come between any check and the replacement.
 *
 * @param old the present state of the target.
 * @returns the kept files.
 */
async function keepBefore(io: FileIo, target: string, plan: KeepPlan, old: FileState): Promise<KeptFile[]> {
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
    // Perhaps the file system has no hard links. Then this is the last possible check.
    const now = await ifThere(io.state(target));
    if (now === undefined || sameStamp(plan.expected, now)) return [];
    return keepAs(io, target, now, plan.editedPath, "edited");
  }
}

/** Runs after the target was replaced. It keeps the file set aside unless its content is as expected. In doubt it keeps it. */
async function judgeAside(io: FileIo, { expected, editedPath, asidePath }: KeepPlan): Promise<KeptFile[]> {
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

/** Keeps a file by a second link, or by a copy where links are impossible. */
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
    // An earlier save may have made the link already, or its answer was lost.
    if (!(await isInode(io, path, old))) await copyFile(io, target, path, old.mode);
  }
  return [{ reason, path }];
}

/** Copies a file to an unused name, and syncs it. */
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

/** Reports whether a name refers to this inode. */
export async function isInode(io: FileIo, path: string, { inode, device }: FileStamp): Promise<boolean> {
  const there = await io.linkState(path).catch(() => undefined);
  return there?.inode === inode && there.device === device;
}

/** Returns the answer; undefined where the file does not exist. */
export async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The limit of Linux. */
const maxLinks = 40;

/**
 * Returns the absolute path behind the symbolic links at the end of `path`, so that replacing the file keeps the links. The file need not exist. The
 * system resolves links in the folders.
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

/** Permission bits of a file that is created (the umask narrows them). */
const newFileMode = 0o644;

/** Error codes of a file system that refuses an owner or a mode. */
const notPermitted: ReadonlySet<string> = new Set(["EPERM", "EACCES", "EINVAL", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

/** The failed step of a save. */
export type SaveStep =
  | "state"
  | "open_folder"
  | "create"
  | "write"
  | "owner"
  | "mode"
  | "sync"
  | "close"
  | "keep"
  | "rename"
  /** The copy of the new content from which an overwritten file can be repaired. */
  | "image"
  | "overwrite"
  | "sync_folder"
  /** The whole save, in its thread. */
  | "thread";

/** Thrown when the file could not be replaced. The old file is unchanged. */
export class SaveError extends Error {
  readonly code: string;
  readonly step: SaveStep;
  readonly remark: string;

  /** @param remark appended to the message. */
  constructor(step: SaveStep, cause: unknown, remark = "") {
    super(`${step}: ${explain(step, cause)}${remark}`, { cause });
    this.name = "SaveError";
    this.step = step;
    this.remark = remark;
    this.code = errorCode(cause);
  }
}

function explain(step: SaveStep, cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (step !== "rename" || errorCode(cause) !== "EBUSY") return message;
  return `${message} (the file is a mount of its own; mount its folder instead, or set SVC_STATE_DIRECTORY_PATH)`;
}

/** A problem that did not keep the new content from being saved. */
export interface SaveAlarm {
  readonly step: SaveStep;
  readonly code: string;
  readonly error: unknown;
}

/** The paths of one replacement. */
interface ReplacePlan {
  /** The file to replace: a path without a symbolic link at its end. */
  readonly target: string;
  /** An unused name in the same folder. */
  readonly temporary: string;
  /** Permission bits for a new file. */
  readonly mode?: number;
}

/** The paths of one save, and the plan for the earlier content. */
export interface SavePlan extends ReplacePlan, KeepPlan {
  /** The path for an image of the new content while the file is overwritten; undefined when there is no place for one. */
  readonly imagePath: string | undefined;
  /** True if the file is known to allow overwriting only. */
  readonly isInPlace: boolean;
}

export interface SavedFile {
  readonly stamp: FileStamp;
  /** The replaced content of a person, and where it is now. */
  readonly kept: readonly KeptFile[];
  readonly alarms: readonly SaveAlarm[];
  /** True if the file was overwritten, because it cannot be replaced. */
  readonly isInPlace: boolean;
}

/**
 * Replaces the content of `target` or creates the file. Readers see the old content or the new, even after a power loss. Only for files that no person
 * edits.
 *
 * @throws SaveError; the file has the old content, or it has the new content and its folder could not be synced.
 */
export async function replaceContent(
  io: FileIo,
  plan: ReplacePlan,
  content: Uint8Array | Iterable<Uint8Array>,
): Promise<void> {
  const { alarms } = await saveFile(io, plan, content instanceof Uint8Array ? [content] : content);
  for (const { step, error } of alarms) if (step === "sync_folder") throw new SaveError(step, error);
}

/**
 * Replaces the content of `target` or creates the file: writes `temporary`, syncs it, renames it over the target and syncs the folder.
 *
 * With `keep`, it keeps content that a person wrote under another name. It preserves mode and owner; a refusal there is an alarm. After the rename the
 * file counts as saved, so a later failure is an alarm as well.
 *
 * @param onWritten called before the rename with the future state of the file.
 * @throws SaveError, or an error of `chunks`; the target is unchanged, and the temporary file is gone unless its removal failed too.
 */
export async function saveFile(
  io: FileIo,
  plan: ReplacePlan,
  chunks: Iterable<Uint8Array>,
  keep?: KeepPlan,
  onWritten: (stamp: FileStamp) => void = () => {},
): Promise<SavedFile> {
  const { target, temporary, mode = newFileMode } = plan;
  const alarms: SaveAlarm[] = [];
  const old = await attempt("state", () => ifThere(io.state(target)));
  // The folder is opened first, so that missing descriptors or permissions fail the save before the rename.
  const folder = await attempt("open_folder", () => io.openFolder(dirname(target)));
  try {
    let written: FileState;
    let kept: readonly KeptFile[] = [];
    try {
      const file = await attempt("create", () => io.create(temporary, old?.mode ?? mode));
      written = await fill(file, chunks, old, alarms);
      if (old !== undefined && keep !== undefined) {
        kept = await attempt("keep", () => keepBefore(io, target, keep, old));
      }
      onWritten(written);
    } catch (error) {
      await removeQuietly(io, temporary);
      throw error;
    }
    await moveOver(io, plan, keep?.asidePath, written, alarms);
    // There is no retry: a second sync on the same descriptor could report success for pages that the first one lost.
    await alarmOn("sync_folder", () => folder.sync(), alarms);
    if (keep !== undefined) {
      await alarmOn("keep", async () => void (kept = [...kept, ...(await judgeAside(io, keep))]), alarms);
    }
    return { stamp: written, alarms, kept, isInPlace: false };
  } finally {
    await folder.close().catch(() => {});
  }
}

/**
 * Finishes a save whose thread died, if the rename has taken place.
 *
 * @param written the state of the target after the rename.
 * @returns undefined when there was no rename.
 */
export async function finishRename(
  io: FileIo,
  plan: SavePlan,
  written: FileStamp,
  death: Error,
): Promise<SavedFile | undefined> {
  const there = await io.state(plan.target).catch(() => undefined);
  if (there?.inode !== written.inode || there.device !== written.device) return undefined;
  const alarms: SaveAlarm[] = [{ step: "thread", code: errorCode(death), error: death }];
  let kept: readonly KeptFile[] = [];
  await alarmOn("sync_folder", () => syncFolder(io, dirname(plan.target)), alarms);
  await alarmOn("keep", async () => void (kept = await judgeAside(io, plan)), alarms);
  return { stamp: written, alarms, kept, isInPlace: false };
}

/** Flushes the names in a folder to disk. */
export async function syncFolder(io: FileIo, path: string): Promise<void> {
  const folder = await io.openFolder(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Returns the name of the `number`-th temporary file of one run (letters and digits) of the store of this target. */
export function temporaryPath(target: string, run: string, number: number): string {
  return join(dirname(target), `${temporaryPrefix(target)}${run}-${number}.tmp`);
}

/** Returns the paths that interrupted saves of this target left behind. Only the holder of the lock may remove them. */
export async function findLeftOvers(io: FileIo, target: string): Promise<readonly string[]> {
  const prefix = temporaryPrefix(target);
  const names = await io.list(dirname(target));
  return names
    .filter((name) => name.startsWith(prefix) && /^[0-9a-z]+-[0-9]+\.tmp$/.test(name.slice(prefix.length)))
    .map((name) => join(dirname(target), name));
}

/** Returns the prefix of temporary names. It cuts a long name to the limit of 255 bytes and adds a digest to keep it unique. */
function temporaryPrefix(target: string): string {
  const name = basename(target);
  if (Buffer.byteLength(name) <= 160) return `.${name}.netgloss-`;
  return `.${createHash("sha256").update(name).digest("hex")}.netgloss-`;
}

/** Writes the file, sets mode and owner, syncs and closes. */
async function fill(
  file: OpenFile,
  chunks: Iterable<Uint8Array>,
  old: FileState | undefined,
  alarms: SaveAlarm[],
): Promise<FileState> {
  let written: FileState;
  try {
    for (const chunk of chunks) await attempt("write", () => writeAll(file, chunk));
    if (old !== undefined) await keepOwnerAndMode(file, old, alarms);
    await attempt("sync", () => file.sync());
    written = await attempt("state", () => file.state());
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
  await attempt("close", () => file.close());
  return written;
}

async function keepOwnerAndMode(file: OpenFile, old: FileState, alarms: SaveAlarm[]): Promise<void> {
  const mine = await attempt("state", () => file.state());
  const isMine = mine.uid === old.uid && mine.gid === old.gid;
  if (!isMine) {
    await ifPermitted("owner", () => file.chown(old.uid, old.gid), alarms);
    // A user may change the group to another of its groups, but not the owner.
    if (alarms.length > 0 && mine.gid !== old.gid) await ifPermitted("owner", () => file.chown(-1, old.gid), []);
  }
  // The mode follows the owner, because a change of owner clears the set-id bits.
  if (!isMine || mine.mode !== old.mode) await ifPermitted("mode", () => file.chmod(old.mode), alarms);
}

async function moveOver(
  io: FileIo,
  { target, temporary }: ReplacePlan,
  asidePath: string | undefined,
  written: FileState,
  alarms: SaveAlarm[],
): Promise<void> {
  try {
    await attempt("rename", () => io.rename(temporary, target));
  } catch (error) {
    // A network file system may report an error for a rename that took place. The inode shows it.
    const there = await io.state(target).catch(() => undefined);
    if (there?.inode === written.inode && there.device === written.device) {
      alarms.push({ step: "rename", code: errorCode(error), error });
      return;
    }
    await removeQuietly(io, temporary);
    if (asidePath !== undefined) await removeQuietly(io, asidePath);
    throw error;
  }
}

/** Runs a step of a save. @throws SaveError for any error. */
export async function attempt<T>(step: SaveStep, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new SaveError(step, error);
  }
}

async function alarmOn(step: SaveStep, action: () => Promise<void>, alarms: SaveAlarm[]): Promise<void> {
  try {
    await action();
  } catch (error) {
    alarms.push({ step, code: errorCode(error), error });
  }
}

async function ifPermitted(step: SaveStep, action: () => Promise<void>, alarms: SaveAlarm[]): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!notPermitted.has(errorCode(error))) throw new SaveError(step, error);
    alarms.push({ step, code: errorCode(error), error });
  }
}

async function removeQuietly(io: FileIo, path: string): Promise<void> {
  await io.unlink(path).catch(() => {});
}
