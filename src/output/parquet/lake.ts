/** The destination of files, by path: `flow/date=2026-11-27/hour=05/a.parquet`. */
export interface Lake {
  /** Checks that it can be used. @returns warnings for the operator. @throws DeliveryError */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /** Writes a file, or replaces it; a part of it is never visible under its name. @throws DeliveryError */
  put(path: string, chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>;
  close(): void;
}
