import type { ChildProcess } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { isMainThread, Worker } from "node:worker_threads";
import type { JsonataError } from "jsonata";
import { ExchangeError, rowsOfABlock } from "../import-rows.ts";
import { parseJson, requireDifferentNames } from "./json-rows.ts";

/** Selects rows of a JSON text by a JSONata expression. It returns them as JSON, one on each line. @throws ExchangeError */
export type Select = (text: string, expression: string, signal?: AbortSignal) => AsyncIterable<string>;

/** The limits of selections. */
export interface SelectionLimits {
  /** The longest time of an evaluation, in milliseconds. */
  readonly timeout: number;
  /** The memory of an evaluation in megabytes, in addition to eight times the size of its text. */
  readonly memoryMb: number;
  /** The most bytes of the rows, unless twice the size of the source text is more. */
  readonly rowsBytes: number;
  /** The most selections that may wait for the one in progress. */
  readonly mostWaiting: number;
}

const defaultLimits: SelectionLimits = { timeout: 20_000, memoryMb: 256, rowsBytes: 64 * 1024 ** 2, mostWaiting: 16 };

/** The first line of the process's input. The text follows. */
interface Order {
  readonly expression: string;
}

/** The first line of the process's output. */
type Verdict = Pick<ExchangeError, "field" | "message"> | "rows";

/**
 * Evaluates expressions of users one at a time. Each has its own process, which is killed when it takes too long. A thread is not enough:
 * V8 ends the whole process when a single allocation of a thread does not fit, whatever the limit of the thread is.
 */
export class Selections {
  readonly #start: (memoryMb: number) => ChildProcess;
  readonly #limits: SelectionLimits;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /** @param start starts a process that calls {@link serveSelection} with this number. Its input and output are pipes. */
  constructor(start: (memoryMb: number) => ChildProcess, limits: Partial<SelectionLimits> = {}) {
    this.#start = start;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Implements {@link Select}. */
  async *select(text: string, expression: string, signal?: AbortSignal): AsyncGenerator<string, void> {
    await this.#waitForOthers();
    try {
      signal?.throwIfAborted();
      yield* this.#evaluate(text, expression, signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isBusy = false;
      else next();
    }
  }

  async #waitForOthers(): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      return;
    }
    if (this.#waiting.length >= this.#limits.mostWaiting) {
      throw new ExchangeError(
        "select",
        `${this.#waiting.length} other selections wait to be evaluated: try again later`,
      );
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async *#evaluate(text: string, expression: string, signal: AbortSignal | undefined): AsyncGenerator<string, void> {
    const { timeout } = this.#limits;
    const rowsBytes = Math.max(this.#limits.rowsBytes, 2 * text.length);
    const memoryMb = this.#limits.memoryMb + Math.ceil((8 * text.length) / 1024 ** 2);
    const child = this.#start(memoryMb);
    /** The reason why the process was killed. */
    let ended: Error | undefined;
    const end = (reason: Error): void => {
      ended ??= reason;
      child.kill("SIGKILL");
    };
    const exited = new Promise<boolean>((resolve) => {
      child.once("exit", (code) => resolve(code === 0));
      child.once("error", (error) => {
        ended ??= new ExchangeError("select", `the selection cannot be evaluated: ${error.message}`);
        resolve(false);
      });
    });
    const timer = setTimeout(
      () => end(new ExchangeError("select", `the selection did not end within ${timeout / 1000} s`)),
      timeout,
    );
    const abort = (): void => end(signal?.reason as Error);
    signal?.addEventListener("abort", abort);
    try {
      const { stdin, stdout } = child;
      // A process that could not be started has no id.
      if (child.pid === undefined && !(await exited))
        throw ended ?? new Error("the process of a selection has no number");
      if (stdin === null || stdout === null) throw new Error("the process of a selection has no pipes");
      // The process may end before it has read everything.
      stdin.on("error", () => {});
      stdin.end(`${JSON.stringify({ expression } satisfies Order)}\n${text}`);
      stdout.setEncoding("utf8");
      let head: string | undefined = "";
      let size = 0;
      for await (const chunk of stdout as AsyncIterable<string>) {
        size += chunk.length;
        if (size > rowsBytes)
          throw new ExchangeError("select", `the selection gives more than ${rowsBytes} bytes of rows`);
        if (head === undefined) {
          yield chunk;
          continue;
        }
        head += chunk;
        const lineEnd = head.indexOf("\n");
        if (lineEnd < 0) continue;
        clearTimeout(timer);
        const verdict = JSON.parse(head.slice(0, lineEnd)) as Verdict;
        if (verdict !== "rows") throw new ExchangeError(verdict.field, verdict.message);
        const rest: string = head.slice(lineEnd + 1);
        head = undefined;
        if (rest !== "") yield rest;
      }
      const isWhole = await exited;
      if (ended !== undefined) throw ended;
      if (!isWhole || head !== undefined) {
        throw new ExchangeError(
          "select",
          `the selection takes more than ${memoryMb} MB of memory, or its process was killed`,
        );
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      child.kill("SIGKILL");
    }
  }
}

/** The limits of depth and length. The process limits time and memory. */
const expressionLimits = { stack: 500, sequence: 5_000_000 };
const watchEveryMs = 50;
/** The megabytes that a process needs in addition to its expression. */
const processMb = 128;

/**
 * Evaluates one expression and writes its result. The expression runs in a thread, so that the main thread can end the process when it takes
 * too much memory, or when nobody reads the rows any more.
 *
 * @param entry the module that calls this function. The thread runs it, too.
 */
export function serveSelection(entry: URL, memoryMb: number): void {
  if (!isMainThread) {
    void evaluate();
    return;
  }
  const kill = (): void => void process.kill(process.pid, "SIGKILL");
  process.once("disconnect", kill);
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > (memoryMb + processMb) * 1024 ** 2) kill();
  }, watchEveryMs);
  // With its own outputs, the thread does not open `process.stdout`, which would make the pipe non-blocking. The thread could then
  // not write rows to a collector that reads slowly.
  const ownOutputs = { stdout: true, stderr: true };
  new Worker(entry, { argv: [String(memoryMb)], resourceLimits: { maxOldGenerationSizeMb: memoryMb }, ...ownOutputs })
    .once("error", kill)
    .once("exit", (code) => {
      clearInterval(watch);
      process.exit(code);
    });
}

async function evaluate(): Promise<void> {
  let rows: readonly unknown[];
  try {
    const input = readFileSync(0, "utf8");
    const lineEnd = input.indexOf("\n");
    const { expression } = JSON.parse(input.slice(0, lineEnd)) as Order;
    const text = input.slice(lineEnd + 1);
    requireDifferentNames(text);
    rows = await rowsOf(parseJson(text), expression);
  } catch (error) {
    const field = error instanceof ExchangeError ? error.field : "select";
    const { message } = error as Error;
    writeLines([{ field, message }]);
    return;
  }
  writeLines(["rows"]);
  for (let start = 0; start < rows.length; start += rowsOfABlock) writeLines(rows.slice(start, start + rowsOfABlock));
}

/** Evaluates an expression. @throws ExchangeError when the expression is wrong or has no result. */
async function rowsOf(document: unknown, expression: string): Promise<readonly unknown[]> {
  const { default: jsonata } = await import("jsonata");
  let value: unknown;
  try {
    value = await jsonata(expression, expressionLimits).evaluate(document);
  } catch (error) {
    const { message, position } = error as JsonataError;
    const where = typeof position === "number" ? ` at character ${position}` : "";
    throw new ExchangeError("select", `the selection fails${where}: ${message}`);
  }
  if (value === undefined) {
    throw new ExchangeError("select", "the selection gives nothing: does it name the right list?");
  }
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

/** Writes each value as a line. Values without JSON, such as functions, are null. It waits while the collector does not read. */
function writeLines(values: readonly unknown[]): void {
  const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value) ?? "null"}\n`).join(""));
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
}
