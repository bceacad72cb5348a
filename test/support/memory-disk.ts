// A disk behind the seam of files that fills up, fails and is cut off, for writers of files by offsets.
import { nodeFileIo, type FileIo, type OpenFile } from "../../src/base/file/index.ts";

/** A disk in memory that outlives the processes that use it. */
export interface MemoryDisk {
  /** An I/O for one process; after `kill` all its calls fail and change nothing. */
  open(): { readonly io: FileIo; kill(): void };
  /** What was not synced is gone: the tail of each file, and names of new files. */
  powerCut(): void;
  /** Bytes that fit; a write that does not fit is short, then fails with ENOSPC. */
  capacity: number;
  /** The nth call from now, counted from 1, fails with EIO; 0 is none. */
  failAt: number;
  /** Reading from these paths fails with EIO, each time. */
  readonly unreadable: Set<string>;
  /** Syncs fail with EIO. */
  failsSync: boolean;
  /** Calls so far. */
  readonly calls: number;
  readonly files: Map<string, MemoryFile>;
}

export interface MemoryFile {
  bytes: Buffer;
  /** What would outlive a power cut; undefined: not even the name. */
  synced: Buffer | undefined;
}

export function createMemoryDisk(): MemoryDisk {
  const files = new Map<string, MemoryFile>();
  let calls = 0;
  const disk: MemoryDisk = {
    capacity: Infinity,
    failAt: 0,
    unreadable: new Set(),
    failsSync: false,
    files,
    get calls() {
      return calls;
    },
    powerCut() {
      for (const [path, file] of files) {
        if (file.synced === undefined) files.delete(path);
        else file.bytes = Buffer.from(file.synced);
      }
    },
    open() {
      let isDead = false;
      const call = async <T>(action: () => T): Promise<T> => {
        await Promise.resolve();
        if (isDead) throw systemError("EBADF");
        calls++;
        if (disk.failAt > 0 && --disk.failAt === 0) throw systemError("EIO");
        return action();
      };
      const fileOf = (path: string): MemoryFile => {
        const file = files.get(path);
        if (file === undefined) throw systemError("ENOENT");
        return file;
      };
      const used = (): number => [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
      const open = (path: string, file: MemoryFile): OpenFile => ({
        ...neverUsed,
        readAt: (into, position) =>
          call(() => {
            if (disk.unreadable.has(path)) throw systemError("EIO");
            return file.bytes.copy(into, 0, position);
          }),
        writeAt: (chunks, position) =>
          call(() => {
            let all = Buffer.concat(chunks);
            const room = Math.max(0, disk.capacity - used());
            const growth = Math.max(0, position + all.length - file.bytes.length);
            if (growth > room) all = all.subarray(0, all.length - (growth - room));
            if (all.length === 0) throw systemError("ENOSPC");
            const next = Buffer.alloc(Math.max(file.bytes.length, position + all.length));
            file.bytes.copy(next);
            all.copy(next, position);
            file.bytes = next;
            return all.length;
          }),
        truncate: (size) => call(() => void (file.bytes = file.bytes.subarray(0, size))),
        state: () => call(() => ({ ...fileState, size: file.bytes.length })),
        syncData: () =>
          call(() => {
            if (disk.failsSync) throw systemError("EIO");
            file.synced = Buffer.from(file.bytes);
          }),
        close: () => call(() => {}),
      });
      const io: FileIo = {
        ...neverCalled,
        makeFolder: () => call(() => {}),
        list: (directory) =>
          call(() =>
            [...files.keys()].flatMap((path) =>
              path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : [],
            ),
          ),
        openToUpdate: (path) =>
          call(() => {
            if (!files.has(path)) files.set(path, { bytes: Buffer.alloc(0), synced: undefined });
            return open(path, fileOf(path));
          }),
        rename: (from, to) =>
          call(() => {
            files.set(to, fileOf(from));
            files.delete(from);
          }),
        unlink: (path) =>
          call(() => {
            fileOf(path);
            files.delete(path);
          }),
        openFolder: () => call(() => ({ ...neverUsed, sync: () => call(() => {}), close: () => call(() => {}) })),
      };
      return { io, kill: () => void (isDead = true) };
    },
  };
  return disk;
}

const unexpected = (): never => {
  throw new Error("a call that the disk does not have");
};
const neverUsed: OpenFile = {
  write: unexpected,
  writeAt: unexpected,
  readAt: unexpected,
  chmod: unexpected,
  chown: unexpected,
  state: unexpected,
  truncate: unexpected,
  sync: unexpected,
  syncData: unexpected,
  close: unexpected,
};
/** So that no call goes round the faults. */
const neverCalled = Object.fromEntries(Object.keys(nodeFileIo).map((name) => [name, unexpected])) as unknown as FileIo;
const fileState = { kind: "file", modified: 1n, inode: 1n, device: 1n, mode: 0o640, uid: 0, gid: 0 } as const;

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}
