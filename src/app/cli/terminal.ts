import { readFile } from "node:fs/promises";

/** Returns rows as columns of equal width, separated by two blanks. Control characters, which could steer a terminal, become `?`. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const writer = tableWriter<readonly string[]>(header, (row) => row);
  return writer.batch(rows) + writer.end();
}

/** Returns a line of CSV (RFC 4180) without its end. Cells that would be misread otherwise are quoted. */
export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}

/** The number of rows that determine the widths of columns when a table arrives in batches; later wider cells stick out. */
const measuredRows = 1_000;

/** Writes a table whose rows arrive in batches. The first rows determine the widths, so a table of any length needs little memory. */
export function tableWriter<T>(
  header: readonly string[],
  rowOf: (element: T) => readonly string[],
): { readonly batch: (elements: readonly T[]) => string; readonly end: () => string } {
  let measured: (readonly string[])[] | undefined = [header];
  let widths: readonly number[] = [];

  const render = (rows: readonly (readonly string[])[]): string => {
    const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
    return lines.map((line) => `${line.trimEnd()}\n`).join("");
  };
  const settle = (): string => {
    const rows = measured ?? [];
    measured = undefined;
    widths = header.map((_, i) => rows.reduce((most, row) => Math.max(most, (row[i] ?? "").length), 0));
    return render(rows);
  };
  return {
    batch(elements) {
      const rows = elements.map((element) => rowOf(element).map((cell) => cell.replace(/\p{Cc}/gu, "?")));
      if (measured === undefined) return render(rows);
      for (const row of rows) measured.push(row);
      return measured.length > measuredRows ? settle() : "";
    },
    end: () => (measured === undefined ? "" : settle()),
  };
}

/**
 * Asks whether a command may go on.
 *
 * @throws CommandError `usage` when there is nobody to ask, `failed` when the answer is no.
 */
export async function confirm(question: string, terminal: Terminal): Promise<void> {
  const answer = await terminal.ask(`${question} [y/N] `);
  if (answer === undefined) throw new CommandError("usage", "nobody can be asked here: give --yes, or --dry-run");
  if (!/^(?:y|yes)$/i.test(answer.trim())) throw new CommandError("failed", "nothing was changed");
}

/** The parts of its host that a command line program uses. Tests pass their own. */
export interface Terminal {
  /** The words by which the program was started: `netgloss`, `node bin/netgloss.js`. Hints start with them. */
  readonly startedAs: string;
  /** The arguments after those. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes to the standard output. */
  out(text: string): void;
  /** Resolves when the standard output has taken all written text: true, or false when nobody reads it any more. */
  drained(): Promise<boolean>;
  /** The standard input. */
  readonly input: AsyncIterable<string | Uint8Array>;
  /** Writes to the standard error. */
  err(text: string): void;
  /**
   * Asks the person at the terminal, even if the standard input and output are redirected.
   *
   * @returns the answer without its line end; undefined when nobody is there, or the input has ended.
   */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string | undefined>;
  /** True if a person reads the standard error, where a command shows its progress. */
  readonly isWatched: boolean;
  readonly signals: SignalSource;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** The source of signals and of uncaught errors: `process`. */
export interface SignalSource {
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
}

/** Exit codes. `config` is that of sysexits.h: the settings or a file of settings cannot be used. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  refused: 5,
  unreachable: 6,
  config: 78,
} as const;

/** The meaning of exit codes, for the help. */
export const exitText =
  "0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 refused, 6 not reachable, 78 bad settings.";

/**
 * The failure of a command. Its code and message come from the API's answer. Without an answer the code is `unreachable` or `untrusted`.
 * A failure of the command itself has `failed`, `usage`, or a code of the API.
 */
export class CommandError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "CommandError";
    this.code = code;
  }
}

const codes: Readonly<Record<string, number>> = {
  usage: exitCodes.usage,
  not_found: exitCodes.notFound,
  already_exists: exitCodes.conflict,
  aborted: exitCodes.conflict,
  failed_precondition: exitCodes.conflict,
  invalid_argument: exitCodes.refused,
  out_of_range: exitCodes.refused,
  permission_denied: exitCodes.refused,
  unauthenticated: exitCodes.refused,
  resource_exhausted: exitCodes.refused,
  unimplemented: exitCodes.refused,
  unavailable: exitCodes.unreachable,
  unreachable: exitCodes.unreachable,
  untrusted: exitCodes.unreachable,
};

/** Returns the exit code of a command that ends with this error. */
export function exitCodeOf(error: CommandError): number {
  return codes[error.code] ?? exitCodes.failure;
}

/** Reports whether a path is the standard input. One that is a socket cannot be opened by its path. */
const isStandardInput = (path: string): boolean => path === "-" || path === "/dev/stdin";

/**
 * Reads a file, or a pipe: `-`, `/dev/stdin`, `<(…)`.
 *
 * @throws CommandError `failed` that names it.
 */
export async function readInput(path: string, terminal: Terminal): Promise<Uint8Array> {
  try {
    if (!isStandardInput(path)) return await readFile(path);
    const parts: Uint8Array[] = [];
    for await (const part of terminal.input) parts.push(typeof part === "string" ? Buffer.from(part) : part);
    return Buffer.concat(parts);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError("failed", `${path}: ${code === "ENOENT" ? "no such file" : message}`);
  }
}
