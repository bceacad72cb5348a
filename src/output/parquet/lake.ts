/** Where files go, by their paths: `flow/date=2026-11-27/hour=05/a.parquet`. */
export interface Lake {
  /** Judges that it can be used. @returns what an operator should know. @throws DeliveryError */
  open(signal: AbortSignal): Promise<readonly string[]>;
  /** Writes a file, or replaces it: under its name there is never a part of it. @throws DeliveryError */
  put(path: string, chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>;
  close(): void;
}
