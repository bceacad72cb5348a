// Makes calls of a FileIo go wrong, those on open files included: the n-th of all calls, or what a rule says.
import type { FileIo, OpenFile } from "../../src/base/file/index.ts";

/**
 * - `before`: the call fails and has no effect.
 * - `after`: the call has its effect and fails all the same, as a lost answer of a file server does.
 * - `short`: a write takes half of its bytes; other calls do well.
 */
export type FaultKind = "before" | "after" | "short";

export interface Fault {
  /** From 1. */
  readonly call: number;
  readonly kind: FaultKind;
  readonly code: string;
  /** Done just before the call. */
  readonly act?: () => void;
}

/** What happens instead of a call: it fails with an errno name; of a write so many bytes are taken; undefined: it works. */
export type Ruling = string | { readonly taken: number } | undefined;

export interface FaultFileIo extends FileIo {
  /** Counts calls from zero, and makes the given one go wrong; undefined for none. */
  arm(fault: Fault | undefined): void;
  /** Names of the calls since the last `arm`. */
  calls(): readonly string[];
}

/** @param rule decides for each call: its name, and how many were made before. */
export function faultFileIo(inner: FileIo, rule?: (call: string, index: number) => Ruling): FaultFileIo {
  let fault: Fault | undefined;
  let calls: string[] = [];

  const call = async <T>(name: string, action: (taken: (bytes: number) => number) => Promise<T>): Promise<T> => {
    const ruling = rule?.(name, calls.length);
    calls.push(name);
    if (typeof ruling === "string") {
      // A file whose close fails is closed all the same.
      if (name.endsWith(".close")) await action(all);
      throw failure(ruling, name);
    }
    if (ruling !== undefined) return action(() => ruling.taken);
    if (calls.length !== fault?.call) return action(all);
    fault.act?.();
    if (fault.kind === "short") return action((bytes) => Math.ceil(bytes / 2));
    if (fault.kind === "after") await discard(await action(all));
    throw failure(fault.code, name);
  };

  const wrap = (file: OpenFile, name: string): OpenFile => ({
    write: (bytes) => call(`${name}.write`, (taken) => file.write(bytes.subarray(0, taken(bytes.length)))),
    writeAt: (chunks, offset) =>
      call(`${name}.writeAt`, (taken) => {
        const bytes = Buffer.concat(chunks);
        return file.writeAt([bytes.subarray(0, taken(bytes.length))], offset);
      }),
    readAt: (into, offset) => call(`${name}.readAt`, () => file.readAt(into, offset)),
    chmod: (mode) => call(`${name}.chmod`, () => file.chmod(mode)),
    chown: (uid, gid) => call(`${name}.chown`, () => file.chown(uid, gid)),
    state: () => call(`${name}.state`, () => file.state()),
    truncate: (size) => call(`${name}.truncate`, () => file.truncate(size)),
    sync: () => call(`${name}.sync`, () => file.sync()),
    syncData: () => call(`${name}.syncData`, () => file.syncData()),
    close: () => call(`${name}.close`, () => file.close()),
  });

  return {
    arm(next) {
      fault = next;
      calls = [];
    },
    calls: () => calls,
    state: (path) => call("state", () => inner.state(path)),
    linkState: (path) => call("linkState", () => inner.linkState(path)),
    readLink: (path) => call("readLink", () => inner.readLink(path)),
    read: (path) => call("read", () => inner.read(path)),
    list: (folder) => call("list", () => inner.list(folder)),
    create: async (path, mode) => wrap(await call("create", () => inner.create(path, mode)), "file"),
    openExisting: async (path) => wrap(await call("openExisting", () => inner.openExisting(path)), "target"),
    openToAppend: async (path) => wrap(await call("openToAppend", () => inner.openToAppend(path)), "history"),
    openStream: async (path, mode) => wrap(await call("openStream", () => inner.openStream(path, mode)), "stream"),
    openToUpdate: async (path, mode) => wrap(await call("openToUpdate", () => inner.openToUpdate(path, mode)), "data"),
    openToRead: async (path) => wrap(await call("openToRead", () => inner.openToRead(path)), "reader"),
    makeFolder: (path, mode) => call("makeFolder", () => inner.makeFolder(path, mode)),
    realPath: (path) => call("realPath", () => inner.realPath(path)),
    openFolder: async (path) => wrap(await call("openFolder", () => inner.openFolder(path)), "folder"),
    rename: (from, to) => call("rename", () => inner.rename(from, to)),
    link: (from, to) => call("link", () => inner.link(from, to)),
    unlink: (path) => call("unlink", () => inner.unlink(path)),
  };
}

const all = (bytes: number): number => bytes;

function failure(code: string, call: string): Error {
  return Object.assign(new Error(`${code}: injected into ${call}`), { code });
}

/** A file that was opened by a call whose answer is lost would stay open for good. */
async function discard(result: unknown): Promise<void> {
  if (typeof result === "object" && result !== null && "close" in result) await (result as OpenFile).close();
}
