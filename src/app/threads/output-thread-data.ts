import type { LogLevel } from "../../base/report/index.ts";
import type { StoreOutput } from "../outputs/store-outputs.ts";

/** What the thread of an output to a store is given. */
export interface OutputThreadData extends Pick<StoreOutput, "delivery" | "word" | "settings"> {
  /** Begins the identities of the records that it delivers. */
  readonly instance: string;
  readonly logLevel: LogLevel;
}

/** What it reports by itself. */
export type OutputNote =
  /** Loans of lines that it needs no more. */
  | { readonly returned: readonly number[] }
  /** What is wrong with the store; null: it works. */
  | { readonly fault: string | null };
