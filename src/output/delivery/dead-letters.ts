import { createReadStream } from "node:fs";
import { open, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { limitLog, type Clock, type Log, type Reporting } from "../../base/report/index.ts";
import { errorCode, makeFolder } from "../../base/file/index.ts";
import type { DeliveryReport } from "../output-metrics.ts";
import { forEachLine, type Batch } from "./batch.ts";
import type { DeliveryContext } from "./settings.ts";
import { reasonOf, type Refusal } from "./output-adapter.ts";

/** Dead letters with one kind of reason. Times are milliseconds since the epoch. */
export interface DeadLetterReason {
  /** The server's reason, without details of single records. */
  readonly reason: string;
  readonly records: number;
  readonly firstAt: number;
  readonly at: number;
}

/** The dead letters that are kept. */
export interface DeadLetterList {
  readonly records: number;
  readonly bytes: number;
  /** Reasons by frequency, the most frequent first. Those beyond {@link maxReasons} are combined. */
  readonly reasons: readonly DeadLetterReason[];
  /** True while they are being sent again. */
  readonly isResending: boolean;
}

/** Takes whole lines; resolves when they are delivered, refused again or kept on disk. */
export type TakeLines = (lines: Uint8Array, count: number) => Promise<void>;

/** The number of reasons that are counted separately. */
const maxReasons = 20;
const otherReasons = "other reasons";
/** Bytes of lines that are sent again together; twice as many are under way at a time. */
const resendBytes = 256 * 1024;

type Tally = Map<string, { records: number; firstAt: number; at: number }>;
/** A file of dead letters and its content. */
interface LetterFile {
  readonly path: string;
  readonly tally: Tally;
  bytes: number;
}

/**
 * Keeps records that a store refused permanently. Each is a line of JSON with the time, the output, the server's reason and the
 * original record. They can be sent again.
 */
export class DeadLetters {
  readonly #output: string;
  /** The file; empty: refusals are only logged and counted. */
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #report: Pick<DeliveryReport, "failed">;
  readonly #clock: Clock;
  readonly #log: Log;
  #file: FileHandle | undefined;
  readonly #current: LetterFile;
  readonly #rotated: LetterFile;
  /** The letters that are being sent again, or were when an earlier run ended. */
  readonly #resent: LetterFile;
  #resending: Promise<void> | undefined;
  #isClosed = false;
  #last: Promise<unknown> = Promise.resolve();

  /** @param maxBytes at which a file becomes `<path>.1` and replaces an earlier one. */
  constructor(
    { name, stateDirectory }: Pick<DeliveryContext, "name" | "stateDirectory">,
    maxBytes: number,
    report: Pick<DeliveryReport, "failed">,
    { clock, log }: Pick<Reporting, "clock" | "log">,
  ) {
    this.#output = name;
    this.#path = stateDirectory === "" ? "" : join(stateDirectory, "dead-letters.ndjson");
    this.#maxBytes = maxBytes;
    this.#report = report;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    const file = (path: string): LetterFile => ({ path, tally: new Map(), bytes: 0 });
    this.#current = file(this.#path);
    this.#rotated = file(`${this.#path}.1`);
    this.#resent = file(`${this.#path}.resending`);
  }

  /** Reads the letters of earlier runs. */
  open(): void {
    if (this.#path === "") return;
    void this.#alone(async () => {
      for (const file of this.#files()) {
        file.bytes = await sizeOf(file.path);
        if (file.bytes === 0) continue;
        for await (const lines of linesOf(file.path)) for (const line of lines) tally(file.tally, headOf(line));
      }
    });
  }

  /** Writes letters. Never throws: a letter that cannot be written is counted as a failure and logged. */
  async write(batch: Batch, refused: readonly Refusal[]): Promise<void> {
    const [first] = refused;
    if (first === undefined) return;
    const output = this.#output;
    this.#log.warn({ output, records: refused.length, reason: first.reason }, "the store refuses records");
    if (this.#path === "") return;
    const at = this.#clock.now();
    const text = letters(batch, refused, output, new Date(at).toISOString());
    await this.#alone(async () => {
      const file = await this.#opened();
      await file.appendFile(text);
      this.#current.bytes += text.length;
      for (const { reason } of refused) tally(this.#current.tally, { reason, at });
    });
  }

  /** Lists the letters that are kept. */
  list(): DeadLetterList {
    const all: Tally = new Map();
    for (const { tally: one } of this.#files()) {
      for (const [reason, of] of one) add(all, reason, of);
    }
    const reasons = Array.from(all, ([reason, of]) => ({ reason, ...of }));
    reasons.sort((a, b) => b.records - a.records);
    return {
      records: reasons.reduce((sum, { records }) => sum + records, 0),
      bytes: this.#files().reduce((sum, { bytes }) => sum + bytes, 0),
      reasons,
      isResending: this.#resending !== undefined,
    };
  }

  /**
   * Starts to send all of them again. A file is removed when all of it was taken. One whose sending is interrupted is sent again
   * completely next time. A record that is refused again becomes a letter again.
   *
   * @returns their number.
   */
  resend(take: TakeLines): number {
    const { records } = this.list();
    if (this.#path === "" || records === 0) return 0;
    this.#resending ??= this.#resendAll(take).finally(() => (this.#resending = undefined));
    return records;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  #files(): readonly LetterFile[] {
    return [this.#resent, this.#rotated, this.#current];
  }

  /** Runs an action on the files after all earlier ones have ended. */
  #alone(action: () => Promise<void>): Promise<void> {
    const next = this.#last.then(action).catch((error: unknown) => this.#failed(error));
    this.#last = next;
    return next;
  }

  #failed(error: unknown): void {
    this.#report.failed("dead_letter", errorCode(error));
    const fields = { output: this.#output, path: this.#path, reason: reasonOf(error) };
    this.#log.error(fields, "the file of dead letters cannot be used");
  }

  async #opened(): Promise<FileHandle> {
    if (this.#file !== undefined && this.#current.bytes >= this.#maxBytes)
      await this.#move(this.#current, this.#rotated);
    if (this.#file === undefined) {
      await makeFolder(dirname(this.#path), 0o750);
      this.#file = await open(this.#path, "a+", 0o640);
      const { size } = await this.#file.stat();
      this.#current.bytes = size;
      // A line that a crash cut off must not damage the next letter.
      const end = Buffer.from("\n");
      if (size > 0) await this.#file.read(end, 0, 1, size - 1);
      if (end[0] !== 0x0a) await this.#file.appendFile("\n");
    }
    return this.#file;
  }

  async #move(from: LetterFile, to: LetterFile): Promise<void> {
    if (from === this.#current) {
      await this.#file?.close();
      this.#file = undefined;
    }
    await rename(from.path, to.path);
    to.tally.clear();
    for (const [reason, of] of from.tally) to.tally.set(reason, of);
    to.bytes = from.bytes;
    from.tally.clear();
    from.bytes = 0;
  }

  async #resendAll(take: TakeLines): Promise<void> {
    // Letters of an earlier run come first: the others are appended to them.
    for (const from of this.#files()) {
      let isThere = false;
      await this.#alone(async () => {
        if (from !== this.#resent && (await sizeOf(from.path)) > 0) await this.#move(from, this.#resent);
        isThere = (await sizeOf(this.#resent.path)) > 0;
      });
      if (!isThere) continue;
      try {
        await this.#resendFile(take);
      } catch (error) {
        this.#failed(error);
        return;
      }
      if (this.#isClosed) return;
    }
  }

  async #resendFile(take: TakeLines): Promise<void> {
    const underWay: Promise<void>[] = [];
    for await (const lines of linesOf(this.#resent.path)) {
      if (this.#isClosed) return;
      const records = lines.flatMap((line) => recordOf(line) ?? []);
      const damaged = lines.filter((line) => line.length > 0).length - records.length;
      if (damaged > 0) this.#failed(new Error(`${damaged} lines are damaged and not sent again`));
      if (records.length > 0) underWay.push(take(Buffer.concat(records), records.length));
      if (underWay.length > 1) await underWay.shift();
    }
    await Promise.all(underWay);
    if (this.#isClosed) return;
    await unlink(this.#resent.path);
    this.#resent.tally.clear();
    this.#resent.bytes = 0;
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return 0;
    throw error;
  }
}

/** Yields the lines of a file without their line feeds, some at a time. Bytes after the last line feed were cut off by a crash. */
async function* linesOf(path: string): AsyncIterable<readonly Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: resendBytes }) as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (lines.length > 0) yield lines;
  }
}

/** Text in JSON has a backslash before each quote, so this matches only the name itself. */
const recordName = Buffer.from(',"record":');

/** Reads when and why a record was refused. */
function headOf(line: Buffer): { readonly reason: string; readonly at: number } {
  try {
    const head = JSON.parse(`${line.toString("utf8", 0, line.indexOf(recordName))}}`) as Record<string, string>;
    return { reason: head["reason"] ?? "", at: Date.parse(head["@timestamp"] ?? "") || 0 };
  } catch {
    return { reason: "a line that is no dead letter", at: 0 };
  }
}

/** Returns the record of a letter as a line, byte for byte; undefined: the line is damaged. */
function recordOf(line: Buffer): Buffer | undefined {
  const at = line.indexOf(recordName);
  if (at < 0) return undefined;
  // Leave out the brace that ends the letter.
  const value = line.subarray(at + recordName.length, line.length - 1);
  try {
    const { record } = JSON.parse(line.toString()) as { record: unknown };
    return Buffer.concat([typeof record === "string" ? Buffer.from(record) : value, Buffer.from("\n")]);
  } catch {
    return undefined;
  }
}

/** Returns the server's reason without details of one record: its identity, its values, positions in it. */
function kindOf(reason: string): string {
  const text = reason
    // The apostrophe of "field's" does not start a value.
    .replaceAll(/(?<!\w)'[^']*'/g, "'…'")
    .replaceAll(/\[\d+:\d+\]/g, "[…]")
    // Numbers by themselves and in JSON, but not a status or a code, which follow a colon and a blank.
    .replaceAll(/(?<![\w.:[-]|: )\d+(\.\d+)?(?![\w.:-])|(?<=":)-?\d+(\.\d+)?/g, "…")
    .replaceAll(/\b(line|row|column|col|position|offset|at|byte)(:? ?)\d+/gi, "$1$2…");
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

function tally(into: Tally, { reason, at }: { readonly reason: string; readonly at: number }): void {
  add(into, kindOf(reason), { records: 1, firstAt: at, at });
}

function add(into: Tally, kind: string, more: { records: number; firstAt: number; at: number }): void {
  const name = into.has(kind) || into.size < maxReasons ? kind : otherReasons;
  const before = into.get(name);
  if (before === undefined) {
    into.set(name, { ...more });
    return;
  }
  before.records += more.records;
  before.firstAt = Math.min(before.firstAt, more.firstAt);
  before.at = Math.max(before.at, more.at);
}

function letters(batch: Batch, refused: readonly Refusal[], output: string, time: string): Buffer {
  const reasons = new Map(refused.map(({ index, reason }) => [index, reason]));
  const parts: Uint8Array[] = [];
  forEachLine(batch, (chunk, from, to, index) => {
    const reason = reasons.get(index);
    if (reason === undefined) return;
    parts.push(
      Buffer.from(
        `{"@timestamp":"${time}","output":${JSON.stringify(output)},"reason":${JSON.stringify(reason)},"record":`,
      ),
      // A record is JSON; a line that is not becomes a text.
      chunk[from] === 0x7b ? chunk.subarray(from, to) : Buffer.from(JSON.stringify(chunk.toString("utf8", from, to))),
      Buffer.from("}\n"),
    );
  });
  return Buffer.concat(parts);
}
