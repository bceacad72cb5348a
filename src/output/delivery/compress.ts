import { promisify } from "node:util";
import * as zlib from "node:zlib";

export type Compression = "none" | "gzip" | "zstd";

type Compress = (bytes: Uint8Array) => Promise<Uint8Array>;

const gzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip);
/** From Node 22.15 on. */
const { zstdCompress } = zlib as {
  readonly zstdCompress?: (bytes: Uint8Array, callback: (error: Error | null, result: Buffer) => void) => void;
};

/**
 * Compresses in a thread of the system's calls, fast rather than small.
 *
 * @returns undefined for `none`. @throws Error when this Node cannot do it.
 */
export function compressor(compression: Compression): Compress | undefined {
  if (compression === "none") return undefined;
  if (compression === "gzip") return (bytes) => gzip(bytes, { level: 1 });
  if (zstdCompress === undefined) throw new Error("this Node has no zstd: 22.15 or later is needed");
  return promisify(zstdCompress);
}

/** Says what is wrong with a compression that this Node does not have. */
export function zstdFault(compression: string): string | undefined {
  if (compression !== "zstd" || zstdCompress !== undefined) return undefined;
  return `cannot be zstd with Node ${process.version}: 22.15 or later is needed`;
}
