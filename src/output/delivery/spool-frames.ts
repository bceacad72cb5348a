import type { Batch } from "./batch.ts";
import { frameHeaderBytes, isPayloadOf, readFrameHeader, writeFrameHeader, type FrameHeader } from "./spool-format.ts";
import type { SpoolFile } from "./spool-io.ts";

/** The system takes this many pieces in one call. */
const maxChunks = 512;

/** The bytes that a batch takes in a segment. */
export function frameBytes(batch: Pick<Batch, "byteLength">): number {
  return frameHeaderBytes + batch.byteLength;
}

/** Writes a batch at a place of a file. @throws what the system says; some of the frame may be written then. */
export async function writeFrame(file: SpoolFile, at: number, batch: Batch): Promise<void> {
  let chunks: readonly Uint8Array[] = [writeFrameHeader(batch), ...batch.chunks];
  for (let to = at; chunks.length > 0;) {
    const taken = await file.write(chunks.slice(0, maxChunks), to);
    if (taken === 0) throw new Error("the file takes no more bytes");
    to += taken;
    chunks = withoutFirst(chunks, taken);
  }
}

/** What lies at a place of a segment. */
export interface ReadFrame {
  readonly header: FrameHeader;
  /** Undefined when the bytes are not those that were written. */
  readonly batch: Batch | undefined;
}

/** @returns undefined when no frame begins at this place. @throws what the system says. */
export async function readFrame(file: SpoolFile, at: number): Promise<ReadFrame | undefined> {
  const bytes = Buffer.alloc(frameHeaderBytes);
  const header = readFrameHeader(bytes.subarray(0, await file.read(bytes, at)));
  if (header === undefined) return undefined;
  const payload = Buffer.allocUnsafeSlow(header.payloadBytes);
  const length = await file.read(payload, at + frameHeaderBytes);
  if (!isPayloadOf(header, payload.subarray(0, length))) return { header, batch: undefined };
  const { id, count, oldestAt } = header;
  return { header, batch: { id, chunks: [payload], count, byteLength: payload.length, oldestAt } };
}

function withoutFirst(chunks: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes;
  let index = 0;
  for (; index < chunks.length; index++) {
    const { length } = chunks[index] as Uint8Array;
    if (length > left) break;
    left -= length;
  }
  const rest = chunks.slice(index);
  return left === 0 ? rest : [(rest[0] as Uint8Array).subarray(left), ...rest.slice(1)];
}
