// Makes one call of a FileIo go wrong: the n-th of all calls, those on open files included.
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

export interface FaultFileIo extends FileIo {
  /** Counts calls from zero, and makes the given one go wrong; undefined for none. */
  arm(fault: Fault | undefined): void;
  /** Names of the calls since the last `arm`. */
  calls(): readonly string[];
}

export function faultFileIo(inner: FileIo): FaultFileIo {
  let fault: Fault | undefined;
  let calls: string[] = [];

  const call = async <T>(name: string, action: () => Promise<T>): Promise<T> => {
    calls.push(name);
    if (calls.length !== fault?.call) return action();
    fault.act?.();
    if (fault.kind === "short") return action();
    if (fault.kind === "after") await discard(await action());
    throw Object.assign(new Error(`${fault.code}: injected into ${name}`), { code: fault.code });
  };

  const wrap = (file: OpenFile, name: string): OpenFile => ({
    write: (bytes) =>
      call(`${name}.write`, () => {
        const isShort = fault?.kind === "short" && calls.length === fault.call;
        return file.write(isShort ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes);
      }),
    chmod: (mode) => call(`${name}.chmod`, () => file.chmod(mode)),
    chown: (uid, gid) => call(`${name}.chown`, () => file.chown(uid, gid)),
    state: () => call(`${name}.state`, () => file.state()),
    truncate: (size) => call(`${name}.truncate`, () => file.truncate(size)),
    sync: () => call(`${name}.sync`, () => file.sync()),
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
    openFolder: async (path) => wrap(await call("openFolder", () => inner.openFolder(path)), "folder"),
    rename: (from, to) => call("rename", () => inner.rename(from, to)),
    link: (from, to) => call("link", () => inner.link(from, to)),
    unlink: (path) => call("unlink", () => inner.unlink(path)),
  };
}

/** A file that was opened by a call whose answer is lost would stay open for good. */
async function discard(result: unknown): Promise<void> {
  if (typeof result === "object" && result !== null && "close" in result) await (result as OpenFile).close();
}
