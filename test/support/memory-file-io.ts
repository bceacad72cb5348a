// A folder in memory behind the store's seam, which knows what a loss of power would leave of it.
import { posix } from "node:path";
import type { FileIo, FileState, OpenFile } from "../../src/base/file/index.ts";

interface Inode {
  readonly inode: bigint;
  bytes: Buffer;
  /** What a sync has made durable. */
  synced: Buffer;
  modified: bigint;
  /** Written over without a rename: a loss of power may leave any of it. */
  isOverwritten?: boolean;
  mode: number;
  uid: number;
  gid: number;
}

export interface MemoryFileIo extends FileIo {
  /** The one folder that there is. */
  readonly folder: string;
  names(): readonly string[];
  text(path: string): string | undefined;
  put(path: string, content: string | Uint8Array, owner?: Partial<Pick<FileState, "mode" | "uid" | "gid">>): void;
  remove(path: string): void;
  state(path: string): Promise<FileState>;
  /**
   * What is found after a loss of power: synced bytes only; of the names either those that were synced, or (a kernel
   * may write them any time) the latest ones.
   */
  afterPowerLoss(names: "synced" | "latest"): MemoryFileIo;
}

let folders = 0;

export function memoryFileIo(): MemoryFileIo {
  return folderOf(new Map(), new Map());
}

function folderOf(names: Map<string, Inode>, syncedNames: Map<string, Inode>): MemoryFileIo {
  const folder = "/memory";
  const device = BigInt(process.pid) * 100_000n + BigInt(++folders);
  let inodes = 1n;
  let ticks = 1n;

  const fail = (code: string, path: string): never => {
    throw Object.assign(new Error(`${code}: ${path}`), { code });
  };
  const find = (path: string): Inode => names.get(path) ?? fail("ENOENT", path);
  const create = (bytes: Buffer, mode: number): Inode => {
    return { inode: ++inodes, bytes, synced: Buffer.alloc(0), modified: ++ticks, mode, uid: 1000, gid: 1000 };
  };
  const stateOf = ({ inode, bytes, modified, mode, uid, gid }: Inode): FileState => {
    return { kind: "file", size: bytes.length, modified, inode, device, mode, uid, gid };
  };
  const folderState: FileState = {
    kind: "folder",
    size: 0,
    modified: 1n,
    inode: 1n,
    device,
    mode: 0o755,
    uid: 1000,
    gid: 1000,
  };
  const state = async (path: string): Promise<FileState> => (path === folder ? folderState : stateOf(find(path)));

  const openFile = (inode: Inode, start = inode.bytes.length): OpenFile => ({
    write: async (bytes) => {
      inode.bytes = Buffer.concat([inode.bytes.subarray(0, start), bytes, inode.bytes.subarray(start + bytes.length)]);
      start += bytes.length;
      inode.modified = ++ticks;
      return bytes.length;
    },
    writeAt: async (chunks, offset) => {
      const bytes = Buffer.concat(chunks);
      const next = Buffer.alloc(Math.max(inode.bytes.length, offset + bytes.length));
      inode.bytes.copy(next);
      bytes.copy(next, offset);
      inode.bytes = next;
      inode.modified = ++ticks;
      return bytes.length;
    },
    readAt: async (into, offset) => inode.bytes.copy(into, 0, offset),
    chmod: async (mode) => void (inode.mode = mode),
    chown: async (uid, gid) => {
      if (uid >= 0) inode.uid = uid;
      if (gid >= 0) inode.gid = gid;
    },
    state: async () => stateOf(inode),
    truncate: async (size) => void (inode.bytes = inode.bytes.subarray(0, size)),
    sync: async () => void (inode.synced = inode.bytes),
    syncData: async () => void (inode.synced = inode.bytes),
    close: async () => {},
  });

  const openOrCreate = (path: string, mode: number): Inode => {
    const inode = names.get(path) ?? create(Buffer.alloc(0), mode);
    names.set(path, inode);
    return inode;
  };

  const openFolder: OpenFile = {
    ...openFile(create(Buffer.alloc(0), 0o755)),
    sync: async () => {
      syncedNames.clear();
      for (const [path, inode] of names) syncedNames.set(path, inode);
    },
  };

  return {
    folder,
    names: () => [...names.keys()].map((path) => posix.basename(path)).sort(),
    text: (path) => names.get(path)?.bytes.toString(),
    put(path, content, owner = {}) {
      const inode = { ...create(Buffer.from(content), 0o644), ...owner };
      inode.synced = inode.bytes;
      names.set(path, inode);
      syncedNames.set(path, inode);
    },
    remove: (path) => void names.delete(path),
    afterPowerLoss(which) {
      const left = [...(which === "synced" ? syncedNames : names)];
      const found = new Map(
        left.map(([path, inode]) => {
          const isTorn = which === "latest" && inode.isOverwritten === true;
          return [path, { ...inode, bytes: isTorn ? inode.bytes : inode.synced }];
        }),
      );
      return folderOf(found, new Map(found));
    },
    state,
    linkState: state,
    readLink: async (path) => fail("EINVAL", path),
    read: async (path) => Buffer.from(find(path).bytes),
    list: async () => [...names.keys()].map((path) => posix.basename(path)),
    create: async (path, mode) => {
      if (names.has(path)) fail("EEXIST", path);
      const inode = create(Buffer.alloc(0), mode);
      names.set(path, inode);
      return openFile(inode);
    },
    openExisting: async (path) => {
      const inode = find(path);
      inode.isOverwritten = true;
      return openFile(inode, 0);
    },
    openToAppend: async (path) => openFile(find(path)),
    openStream: async (path, mode) => openFile(openOrCreate(path, mode)),
    openToUpdate: async (path, mode) => openFile(openOrCreate(path, mode), 0),
    openToRead: async (path) => openFile(find(path), 0),
    openFolder: async () => openFolder,
    makeFolder: async () => {},
    realPath: async (path) => path,
    rename: async (from, to) => {
      names.set(to, find(from));
      names.delete(from);
    },
    link: async (from, to) => {
      if (names.has(to)) fail("EEXIST", to);
      names.set(to, find(from));
    },
    unlink: async (path) => {
      find(path);
      names.delete(path);
    },
  };
}
