import { dirname, join } from "node:path";
import { errorCode, type FileIo, type OpenFile } from "../../base/file/index.ts";

/** One file of a history. */
export interface Segment {
  readonly path: string;
  /** The number of the change that it was made for. */
  readonly first: number;
  /** Bytes of whole lines. */
  size: number;
}

/** The files of a history, oldest first. Lines go to the last one. */
export interface HistoryFiles {
  /** Finds the files that are there. @throws the errors of the system. */
  find(): Promise<readonly Segment[]>;
  segments(): readonly Segment[];
  /** Whether the next lines begin another file. */
  isFull(): boolean;
  read(segment: Segment): Promise<Buffer>;
  /**
   * Writes lines behind the last one, and syncs. When that fails, what was written is taken back.
   *
   * @param first the number of the first change of the lines.
   * @returns where the lines begin.
   * @throws the errors of the system.
   */
  append(lines: Uint8Array, first: number): Promise<{ readonly segment: Segment; readonly start: number }>;
  /** Cuts the last file to this size, durably. */
  cut(size: number): Promise<void>;
  /** Removes the oldest files, the last one excepted, while all are longer than this together. @returns those removed. */
  shrink(maxBytes: number): Promise<readonly Segment[]>;
  close(): Promise<void>;
}

const fileMode = 0o640;

/**
 * @param beginning of the paths of all files; a number is added.
 * @param segmentBytes a file as long as this is followed by another one.
 */
export function createHistoryFiles(io: FileIo, beginning: string, segmentBytes: number): HistoryFiles {
  const folder = dirname(beginning);
  let segments: Segment[] = [];
  let file: OpenFile | undefined;
  /** Whether the last file may be longer than its lines. */
  let isTorn = false;

  const open = async (): Promise<OpenFile> => {
    file ??= await io.openToAppend((segments.at(-1) as Segment).path);
    return file;
  };

  const close = async (): Promise<void> => {
    const closing = file;
    file = undefined;
    await closing?.close();
  };

  const syncFolder = async (): Promise<void> => {
    const opened = await io.openFolder(folder);
    try {
      await opened.sync();
    } finally {
      await opened.close();
    }
  };

  /** A file of that name that is not known was begun before, and nothing in it counts. */
  const createOrEmpty = async (path: string): Promise<OpenFile> => {
    try {
      return await io.create(path, fileMode);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
      const opened = await io.openToAppend(path);
      await opened.truncate(0);
      return opened;
    }
  };

  const begin = async (first: number): Promise<void> => {
    await close();
    const path = `${beginning}${String(first).padStart(10, "0")}`;
    file = await createOrEmpty(path);
    segments.push({ path, first, size: 0 });
    await syncFolder();
  };

  const isFull = (): boolean => (segments.at(-1)?.size ?? segmentBytes) >= segmentBytes;

  const cut = async (size: number): Promise<void> => {
    (segments.at(-1) as Segment).size = size;
    isTorn = true;
    const opened = await open();
    await opened.truncate(size);
    await opened.sync();
    isTorn = false;
  };

  return {
    segments: () => segments,
    isFull,
    cut,
    close,
    async find() {
      const names = await io.list(folder);
      const found: Segment[] = [];
      for (const name of names.toSorted()) {
        const path = join(folder, name);
        const digits = path.startsWith(beginning) ? path.slice(beginning.length) : "";
        if (!/^[0-9]{10}$/.test(digits)) continue;
        found.push({ path, first: Number(digits), size: (await io.state(path)).size });
      }
      segments = found;
      return found;
    },
    read: async ({ path, size }) => Buffer.from(await io.read(path)).subarray(0, size),
    async append(lines, first) {
      const last = segments.at(-1);
      if (isTorn && last !== undefined) await cut(last.size);
      if (isFull()) await begin(first);
      const segment = segments.at(-1) as Segment;
      const start = segment.size;
      isTorn = true;
      try {
        const opened = await open();
        for (let at = 0; at < lines.length;) at += await opened.write(lines.subarray(at));
        await opened.sync();
      } catch (error) {
        // What cannot be taken back now is before the next lines, or at the next start: no one was answered it.
        await cut(start).catch(() => close().catch(() => {}));
        throw error;
      }
      segment.size = start + lines.length;
      isTorn = false;
      return { segment, start };
    },
    async shrink(maxBytes) {
      const removed: Segment[] = [];
      let size = segments.reduce((sum, segment) => sum + segment.size, 0);
      while (segments.length > 1 && size > maxBytes) {
        const [oldest] = segments as [Segment];
        await io.unlink(oldest.path).catch((error: unknown) => {
          if (errorCode(error) !== "ENOENT") throw error;
        });
        segments = segments.slice(1);
        size -= oldest.size;
        removed.push(oldest);
      }
      return removed;
    },
  };
}
