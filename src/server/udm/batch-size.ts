import { apiError } from "../error/api-error.ts";

const setting = "SVC_API_MAX_BATCH_SIZE";

/** @throws ConnectError `resource_exhausted` for a batch that is too long. */
export function requireBatchSize(length: number, most: number): void {
  if (length <= most) return;
  const message = `the batch has ${length} entries: ${setting} allows ${most}; send several batches`;
  throw apiError("resource_exhausted", "BATCH_TOO_LARGE", message, { metadata: { setting, limit: String(most) } });
}
