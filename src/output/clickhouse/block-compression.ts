import { lz4Compress } from "@platformatic/wasm-utils";
import { bufferOf } from "../delivery/batch.ts";
import { compressor, type Compression } from "../http/server-settings.ts";

export type BlockCompression = Compression | "lz4";

/** Compresses what is inserted. @returns undefined for `none`. @throws Error when this Node cannot do it. */
export function blockCompressor(
  compression: BlockCompression,
): ((bytes: Uint8Array) => Promise<Uint8Array>) | undefined {
  if (compression !== "lz4") return compressor(compression);
  return async (bytes) => lz4Compress(bufferOf(bytes));
}
