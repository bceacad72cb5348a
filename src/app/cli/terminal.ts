/** What a command line program has of its host. Tests pass their own. */
export interface Terminal {
  /** The arguments after the program's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes to the standard output. */
  out(text: string): void;
  /** Resolves when the standard output has taken all that was written: true, or false when nobody reads it any more. */
  drained(): Promise<boolean>;
  /** The standard input. */
  readonly input: AsyncIterable<string | Uint8Array>;
  /** Writes to the standard error. */
  err(text: string): void;
  /**
   * Asks the person at the terminal, whatever the standard input and output are.
   *
   * @returns the answer without its line end; undefined when nobody is there, or the input has ended.
   */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string | undefined>;
  /** Whether a person reads the standard error: what says how far a command is goes there. */
  readonly isWatched: boolean;
  readonly signals: SignalSource;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** Where signals and errors that nobody caught come from: `process`. */
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
