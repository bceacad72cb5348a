import { close, constants, fstatSync, openSync, write } from "node:fs";
import { Socket } from "node:net";
import { promisify } from "node:util";
import { errorCode } from "../../base/file/index.ts";
import type { Clock } from "../../base/report/index.ts";
import { type Sink, leaseLines } from "../../record/index.ts";
import { reasonOf } from "../delivery/output-adapter.ts";
import { OutletClosedError, type Outlet, type OutputOptions, QueuedSink } from "./queued-sink.ts";

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const space = 0x20;
const opening = new Set([0x7b, 0x5b]);
const closing = new Set([0x7d, 0x5d]);
const comma = 0x2c;
const colon = 0x3a;

/** Returns a sink that spreads each line of JSON over several lines, indented by two blanks for each level. Values stay byte for byte. */
export function prettySink(sink: Sink): Sink {
  return { write: (lines, count) => sink.write(prettyLines(lines), count) };
}

/** Returns the same JSON texts with one line for each field. @param lines compact JSON, each on a line of its own. */
function prettyLines(lines: Uint8Array): Uint8Array {
  let out = Buffer.allocUnsafe(2 * lines.length + 64);
  let at = 0;
  let depth = 0;
  let inText = false;
  const put = (byte: number): void => {
    if (at === out.length) out = Buffer.concat([out, Buffer.allocUnsafe(out.length)]);
    out[at++] = byte;
  };
  const indent = (): void => {
    put(lineFeed);
    for (let i = 0; i < 2 * depth; i++) put(space);
  };
  for (let i = 0; i < lines.length; i++) {
    const byte = lines[i] as number;
    if (inText) {
      put(byte);
      if (byte === backslash) put(lines[++i] as number);
      else if (byte === quote) inText = false;
    } else if (opening.has(byte)) {
      put(byte);
      depth++;
      if (!closing.has(lines[i + 1] as number)) indent();
    } else if (closing.has(byte)) {
      depth--;
      if (!opening.has(lines[i - 1] as number)) indent();
      put(byte);
    } else {
      put(byte);
      if (byte === quote) inText = true;
      else if (byte === comma) indent();
      else if (byte === colon) put(space);
    }
  }
  return out.subarray(0, at);
}

/**
 * Returns a sink that passes the first `perSecond` lines of each second, for a person who wants to see some. `leftOut` receives the
 * number of lines left out.
 */
export function limitRate(sink: Sink, perSecond: number, clock: Clock, leftOut: (records: number) => void): Sink {
  let since = -Infinity;
  let passed = 0;
  /** Returns how many of `count` records are passed. */
  const pass = (count: number): number => {
    const now = clock.monotonic();
    if (now - since >= 1000) {
      since = now;
      passed = 0;
    }
    const wanted = Math.min(count, perSecond - passed);
    passed += wanted;
    if (wanted < count) leftOut(count - wanted);
    return wanted;
  };
  return {
    write(lines, count) {
      const wanted = pass(count);
      if (wanted > 0) sink.write(wanted === count ? lines : firstLines(lines, wanted), wanted);
    },
    lease(lines, count, done) {
      const wanted = pass(count);
      if (wanted > 0) leaseLines(sink, wanted === count ? lines : firstLines(lines, wanted), wanted, done);
      else done();
    },
  };
}

function firstLines(lines: Uint8Array, count: number): Uint8Array {
  let end = 0;
  for (let i = 0; i < count; i++) end = lines.indexOf(0x0a, end) + 1;
  return lines.subarray(0, end);
}

const writeTo = promisify(write);
const closeOf = promisify(close);

/** The most bytes of a write: a few times the default size of a pipe, because a quick reader makes room while we write. */
const maxBatch = 256 * 1024;

/** A regular file, terminal or device that is already open. Writes go to its current position. */
class DescriptorOutlet implements Outlet {
  readonly #fd: number;
  readonly #isOwned: boolean;
  readonly #isTerminal: boolean;

  /**
   * @param isOwned true if the descriptor is closed with the outlet.
   * @param isTerminal true if an I/O error means that nobody is there any more, as with a closed terminal.
   */
  constructor(fd: number, isOwned: boolean, isTerminal: boolean) {
    this.#fd = fd;
    this.#isOwned = isOwned;
    this.#isTerminal = isTerminal;
  }

  async next(): Promise<number> {
    return maxBatch;
  }

  isUnfinished(): boolean {
    return false;
  }

  async write(batch: Uint8Array, at: number): Promise<number> {
    try {
      return (await writeTo(this.#fd, batch, at, batch.length - at, null)).bytesWritten;
    } catch (error) {
      const code = errorCode(error);
      if (code === "EAGAIN") return 0;
      if (code === "EPIPE" || (this.#isTerminal && code === "EIO")) {
        throw new OutletClosedError(reasonOf(error), { cause: error });
      }
      throw error;
    }
  }

  /** Takes nothing back, because others may write to the same file. The next write continues at the exact byte. */
  async retreat(_batch: Uint8Array, at: number): Promise<number> {
    return at;
  }

  async close(): Promise<void> {
    if (this.#isOwned) await closeOf(this.#fd).catch(() => {});
  }

  abort(): void {}
}

/**
 * A pipe or a socket, written to when it has room: no thread blocks for a reader that does not read. The
 * descriptor is closed with the outlet.
 */
class StreamOutlet implements Outlet {
  readonly #socket: Socket;

  constructor(fd: number) {
    this.#socket = new Socket({ fd, readable: false, writable: true });
    // Each write learns of its failure by its callback.
    this.#socket.on("error", () => {});
  }

  async next(): Promise<number> {
    return maxBatch;
  }

  isUnfinished(): boolean {
    return false;
  }

  write(batch: Uint8Array, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#socket.write(batch.subarray(at), (error) => {
        // A write that `destroy` interrupts is called back as if it had worked.
        if (error || this.#socket.destroyed) reject(new OutletClosedError(reasonOf(error), { cause: error }));
        else resolve(batch.length - at);
      });
    });
  }

  async retreat(_batch: Uint8Array, at: number): Promise<number> {
    return at;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else this.#socket.once("close", () => resolve()).destroy();
    });
  }

  abort(): void {
    this.#socket.destroy();
  }
}

export interface StdoutSinkOptions extends OutputOptions {
  /** The most records written in a second; leaving others out is not a loss. 0: no limit. */
  readonly maxRate: number;
  /** True if each field of a record has its own line. */
  readonly isPretty?: boolean;
  /** The descriptor; by default 1, the standard output. */
  readonly fd?: number;
}

/**
 * Writes records to the standard output, but not by `process.stdout`: that one buffers without a bound for a stalled reader,
 * or blocks.
 */
export class StdoutSink extends QueuedSink {
  readonly #fd: number;
  /** Takes lines before they are queued. */
  readonly #taker: Sink;

  constructor(options: StdoutSinkOptions) {
    super("stdout", options);
    const { maxRate, clock, fd = 1, isPretty = false } = options;
    this.#fd = fd;
    const queue: Sink = {
      write: (lines, count) => super.write(lines, count),
      lease: (lines, count, done) => super.lease(lines, count, done),
    };
    const target = isPretty ? prettySink(queue) : queue;
    const leftOut = (records: number): void => this.report.leftOut(records);
    this.#taker = maxRate === 0 ? target : limitRate(target, maxRate, clock, leftOut);
  }

  override write(lines: Uint8Array, count: number): void {
    this.#taker.write(lines, count);
  }

  override lease(lines: Uint8Array, count: number, done: () => void): void {
    leaseLines(this.#taker, lines, count, done);
  }

  protected override async open(): Promise<Outlet> {
    const stats = fstatSync(this.#fd);
    if (stats.isSocket()) return new StreamOutlet(this.#fd);
    if (stats.isFile()) return new DescriptorOutlet(this.#fd, false, false);
    const own = openAgain(this.#fd);
    if (stats.isFIFO()) return new StreamOutlet(own ?? this.#fd);
    return new DescriptorOutlet(own ?? this.#fd, own !== undefined, true);
  }
}

/**
 * Opens a pipe or device once more, non-blocking. Setting that on the descriptor itself would change it for every
 * process that shares it, such as the shell. @returns undefined where that is impossible.
 */
function openAgain(fd: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}
