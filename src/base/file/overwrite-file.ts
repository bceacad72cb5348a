import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { errorCode, sameStamp, type FileIo, type FileStamp, type FileState, type OpenFile } from "./file-io.ts";
import {
  ifThere,
  isInode,
  writeAll,
  type KeepReason,
  type KeptFile,
  attempt,
  saveFile,
  SaveError,
  syncFolder,
  type SaveAlarm,
  type SavedFile,
  type SavePlan,
} from "./save-file.ts";

/**
 * Saves a file like {@link saveFile}. A file that is a mount of its own cannot be renamed (EBUSY). Such a file is overwritten instead, if there is a
 * place for an image of the new content.
 *
 * It writes and syncs the image first, then the file, then removes the image. Until the image is removed, {@link replayImage} can repair the file.
 *
 * @param chunks the whole content; iterated several times.
 * @throws SaveError. The file is unchanged, or an image of the earlier content waits for a restart; the message says so.
 */
export async function replaceFile(
  io: FileIo,
  plan: SavePlan,
  chunks: () => Iterable<Uint8Array>,
  onWritten?: (stamp: FileStamp) => void,
): Promise<SavedFile> {
  if (!plan.isInPlace || plan.imagePath === undefined) {
    try {
      return await saveFile(io, plan, chunks(), plan, onWritten);
    } catch (error) {
      const isMount = error instanceof SaveError && error.step === "rename" && error.code === "EBUSY";
      if (!isMount || plan.imagePath === undefined) throw error;
    }
  }
  return overwriteFile(io, plan, plan.imagePath, chunks);
}

/**
 * Repairs a file that an interrupted overwrite may have damaged. Requires the lock.
 *
 * @returns the state of the file afterwards; undefined when there is no complete image.
 */
export async function replayImage(io: FileIo, imagePath: string, target: string): Promise<FileState | undefined> {
  const image = await ifThere(io.read(imagePath));
  if (image === undefined) return undefined;
  const content = contentOf(image);
  const state = content === undefined ? undefined : await overwrite(io, target, [content]);
  // A remaining image would undo later saves at the next start.
  await removeImage(io, imagePath);
  return state;
}

export async function removeImage(io: FileIo, imagePath: string): Promise<void> {
  await ifThere(io.unlink(imagePath));
  await syncFolder(io, dirname(imagePath));
}

async function overwriteFile(
  io: FileIo,
  plan: SavePlan,
  imagePath: string,
  chunks: () => Iterable<Uint8Array>,
): Promise<SavedFile> {
  const { target } = plan;
  const alarms: SaveAlarm[] = [];
  const state = await attempt("state", () => io.state(target));
  const before = await attempt("keep", () => io.read(target));
  const kept = await attempt("keep", () => keepCopy(io, plan, state, before));
  await attempt("image", () => writeImage(io, imagePath, chunks()));
  let stamp: FileState;
  try {
    stamp = await overwrite(io, target, chunks());
  } catch (error) {
    const isImageOld = await restore(io, target, imagePath, before);
    if (isImageOld !== undefined) throw new SaveError("overwrite", error, isImageOld ? tornUntilRestart : "");
    // The image of the new content is all that remains. A restart puts it in place.
    alarms.push({ step: "overwrite", code: errorCode(error), error });
    return { stamp: state, kept, alarms, isInPlace: true };
  }
  try {
    await removeImage(io, imagePath);
  } catch (error) {
    alarms.push({ step: "image", code: errorCode(error), error });
  }
  return { stamp, kept, alarms, isInPlace: true };
}

const tornUntilRestart = " (the file may be torn, a restart makes it whole)";

/**
 * Restores the earlier content.
 *
 * @returns whether it waits as an image; undefined when neither was possible and the image of the new content remains.
 */
async function restore(
  io: FileIo,
  target: string,
  imagePath: string,
  before: Uint8Array,
): Promise<boolean | undefined> {
  try {
    await overwrite(io, target, [before]);
    await removeImage(io, imagePath);
    return false;
  } catch {
    return writeImage(io, imagePath, [before]).then(
      () => true,
      () => undefined,
    );
  }
}

/** Copies content that a person wrote to another file. A second link is not enough, because the inode is overwritten. */
async function keepCopy(
  io: FileIo,
  { expected, originalPath, editedPath }: SavePlan,
  state: FileState,
  content: Uint8Array,
): Promise<KeptFile[]> {
  const isExpected = sameStamp(expected, state);
  if (isExpected && originalPath === undefined) return [];
  const places: [KeepReason, string][] = [["edited", editedPath]];
  if (isExpected && originalPath !== undefined) places.unshift(["original", originalPath]);
  for (const [reason, path] of places) {
    // A second link made before the refused rename would be overwritten with the file.
    if (await isInode(io, path, state)) await io.unlink(path);
    const there = await ifThere(io.read(path));
    if (there === undefined) await writeNew(io, path, state.mode, [content]);
    else if (Buffer.compare(there, content) !== 0) continue;
    return [{ reason, path }];
  }
  throw Object.assign(new Error(`EEXIST: ${editedPath} has other content`), { code: "EEXIST" });
}

/** Writes the content, its SHA-256 and a mark. */
async function writeImage(io: FileIo, path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.tmp`;
  await io.unlink(temporary).catch(() => {});
  await writeNew(io, temporary, 0o600, sealed(chunks));
  await io.rename(temporary, path);
  await syncFolder(io, dirname(path));
}

const mark = Buffer.from("netgloss image 1");
const digestLength = 32;

function* sealed(chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
  const hash = createHash("sha256");
  for (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  yield Buffer.concat([hash.digest(), mark]);
}

function contentOf(image: Uint8Array): Uint8Array | undefined {
  const end = image.length - mark.length - digestLength;
  if (end < 0) return undefined;
  const content = image.subarray(0, end);
  const seal = Buffer.concat([createHash("sha256").update(content).digest(), mark]);
  return Buffer.compare(image.subarray(end), seal) === 0 ? content : undefined;
}

async function overwrite(io: FileIo, target: string, chunks: Iterable<Uint8Array>): Promise<FileState> {
  const file = await io.openExisting(target);
  return finish(file, async () => {
    let size = 0;
    for (const chunk of chunks) {
      await writeAll(file, chunk);
      size += chunk.length;
    }
    await file.truncate(size);
    await file.sync();
    return file.state();
  });
}

async function writeNew(io: FileIo, path: string, mode: number, chunks: Iterable<Uint8Array>): Promise<void> {
  const file = await io.create(path, mode);
  try {
    await finish(file, async () => {
      for (const chunk of chunks) await writeAll(file, chunk);
      await file.sync();
    });
  } catch (error) {
    await io.unlink(path).catch(() => {});
    throw error;
  }
}

/** Closes the file after an action. A failed close is an error unless there is one already. */
async function finish<T>(file: OpenFile, action: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await action();
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
  await file.close();
  return result;
}
