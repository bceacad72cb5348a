import { createHash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { basename, dirname } from "node:path";
import type { Clock, Log } from "../report/index.ts";
import { errorCode, type FileIo } from "./file-io.ts";

/** Thrown when another process, or another store of this process, uses the file. */
export class LockedError extends Error {
  readonly code = "locked";

  constructor(message: string) {
    super(message);
    this.name = "LockedError";
  }
}

/** A lock that lasts until it is released or the process ends in any way. */
export interface FileLock {
  release(): Promise<void>;
}

/** The holder of a lock, according to the advisory file in the same folder. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /** RFC 3339. */
  readonly since: string;
}

/**
 * Locks `target` (an absolute path without a symbolic link at its end) against a second collector.
 *
 * The lock is an abstract Unix socket, named after the folder's device and inode and the file's name. The kernel releases it with the process, so that
 * no stale lock blocks a start. It works within one network namespace. The file `<target>.lock` shows the holder to people, and to collectors in other
 * containers.
 *
 * @param subject the locked thing, as a noun phrase for messages.
 * @throws LockedError naming the holder; the errors of {@link FileIo.state} when the folder does not exist.
 */
export async function takeFileLock(
  io: FileIo,
  target: string,
  { subject, clock, log }: { readonly subject: string; readonly clock: Clock; readonly log: Log },
): Promise<FileLock> {
  const folder = await io.state(dirname(target));
  const advisory = `${target}.lock`;
  const server = await listen(socketName(folder.device, folder.inode, basename(target))).catch(
    async (error: unknown) => {
      const holder = await readHolder(io, advisory);
      if (errorCode(error) !== "EADDRINUSE") throw error;
      const who =
        holder === undefined ? "another process" : `process ${holder.pid} on ${holder.host} since ${holder.since}`;
      throw new LockedError(`${subject} is in use by another collector: ${who}`);
    },
  );

  const left = await readHolder(io, advisory);
  if (left !== undefined && left.host !== hostname()) {
    log.warn({ ...left }, `${subject} was not released by a collector on another host; make sure it is not running`);
  }
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date(clock.now()).toISOString() };
  await writeHolder(io, advisory, holder).catch((error: unknown) => {
    log.warn({ error, path: advisory }, `cannot record who uses ${subject}`);
  });

  return {
    async release() {
      await io.unlink(advisory).catch(() => {});
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Bytes of `sun_path` in unix(7). */
const socketNameLength = 108;

/**
 * Returns the socket name. A leading NUL makes it abstract. It fills the whole field: older versions of Node pad a shorter name with NUL bytes and later
 * ones do not, so they would bind two different names.
 */
function socketName(device: bigint, inode: bigint, name: string): string {
  const shown = /^[\w.-]{1,40}$/.test(name) ? name : createHash("sha256").update(name).digest("hex").slice(0, 40);
  return `\0netgloss-udm-${device.toString(16)}-${inode.toString(16)}-${shown}-`.padEnd(socketNameLength, "-");
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ path }, () => resolve(server.unref()));
  });
}

async function writeHolder(io: FileIo, path: string, holder: Holder): Promise<void> {
  await io.unlink(path).catch(() => {});
  const file = await io.create(path, 0o644);
  try {
    await file.write(Buffer.from(`${JSON.stringify(holder)}\n`));
  } finally {
    await file.close();
  }
}

async function readHolder(io: FileIo, path: string): Promise<Holder | undefined> {
  try {
    const { pid, host, since } = JSON.parse(Buffer.from(await io.read(path)).toString()) as Partial<Holder>;
    return { pid: Number(pid), host: String(host), since: String(since) };
  } catch {
    return undefined;
  }
}
