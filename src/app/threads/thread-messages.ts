import type { LogFields, LogLevel } from "../../base/report/index.ts";

/** To a thread: a call, which it answers if it has a number. */
export interface Call {
  readonly call: string;
  readonly id?: number;
  readonly argument: unknown;
}

/** From a thread: the answer to a call. */
export type Reply = { readonly reply: number } & ({ readonly result: unknown } | { readonly error: Error });

/** From a thread: a line for the log. */
export interface LogMessage {
  readonly log: Exclude<LogLevel, "silent">;
  readonly fields: LogFields;
  readonly message: string;
}

/** From a thread: something that the one who started it understands. */
export interface Note {
  readonly note: unknown;
}

export type FromThread = Reply | LogMessage | Note;
