import { crc32 } from "node:zlib";
import type { FileIo } from "../../base/file/index.ts";
import type { Log } from "../../base/report/index.ts";
import type { DeliveryReport } from "../output-metrics.ts";
import type { Batch, BatchId } from "./batch.ts";

/** Permission bits of a new file (the umask narrows them). */
export const spoolFileMode = 0o640;

export interface SpoolOptions {
  readonly directory: string;
  readonly io: FileIo;
  /** The most bytes of all segments together; only a single batch may exceed it. */
  readonly maxBytes: number;
  /** The size at which a new segment is started. */
  readonly segmentBytes: number;
  /** The data to drop when there is no room for a batch: the oldest segment, or the batch. */
  readonly whenFull: "drop_oldest" | "drop_newest";
  readonly report: Pick<DeliveryReport, "dropped" | "setAside" | "failed">;
  readonly log: Log;
}

/*
 * A segment is a file of frames, one behind the other; each holds a batch. Numbers are little-endian.
 *
 *     offset  bytes
 *     0       4      magic
 *     4       4      bytes of the payload
 *     8       4      records
 *     12      4      CRC-32 of the payload
 *     16      8      number of the batch, a double
 *     24      8      arrival of its oldest record, milliseconds since the epoch, a double
 *     32      12     instance, ASCII
 *     44      4      CRC-32 of the 44 bytes before
 *     48             payload: the lines
 */

export const frameHeaderBytes = 48;
/** `NGS1` */
const frameMagic = 0x3153474e;
export const instanceLength = 12;

export interface FrameHeader {
  readonly id: BatchId;
  readonly payloadBytes: number;
  readonly payloadCrc: number;
  readonly count: number;
  readonly oldestAt: number;
}

/** Returns the header of a batch's frame. The batch must not be part of another, whose records have positions. */
export function writeFrameHeader({ id, chunks, count, byteLength, oldestAt }: Batch): Buffer {
  const header = Buffer.alloc(frameHeaderBytes);
  header.writeUInt32LE(frameMagic, 0);
  header.writeUInt32LE(byteLength, 4);
  header.writeUInt32LE(count, 8);
  header.writeUInt32LE(
    chunks.reduce((crc, chunk) => crc32(chunk, crc), 0),
    12,
  );
  header.writeDoubleLE(id.number, 16);
  header.writeDoubleLE(oldestAt, 24);
  header.write(id.instance.padEnd(instanceLength), 32, instanceLength, "latin1");
  header.writeUInt32LE(crc32(header.subarray(0, 44)), 44);
  return header;
}

/** Reads the header of a frame. @returns undefined when these bytes are not a header. */
export function readFrameHeader(header: Buffer): FrameHeader | undefined {
  if (header.length < frameHeaderBytes || header.readUInt32LE(0) !== frameMagic) return undefined;
  if (crc32(header.subarray(0, 44)) !== header.readUInt32LE(44)) return undefined;
  return {
    id: { instance: header.toString("latin1", 32, 44).trimEnd(), number: header.readDoubleLE(16) },
    payloadBytes: header.readUInt32LE(4),
    payloadCrc: header.readUInt32LE(12),
    count: header.readUInt32LE(8),
    oldestAt: header.readDoubleLE(24),
  };
}

export function isPayloadOf(header: FrameHeader, payload: Uint8Array): boolean {
  return payload.length === header.payloadBytes && crc32(payload) === header.payloadCrc;
}

/** The offset of a frame in a spool, or of the end of the last one. */
export interface SpoolOffset {
  readonly segment: number;
  readonly offset: number;
}

/** The delivered part of a spool: everything before an offset, except some frames. */
export interface SpoolPosition {
  readonly readUpTo: SpoolOffset;
  /** Frames before it that were read and are not delivered. */
  readonly open: readonly SpoolOffset[];
}

/*
 * The position file has two slots, written alternately, so one is whole even if a write fails.
 *
 *     0  which write this is          8  CRC-32 of all that follows
 *     16 segment, offset              32 how many frames are open, then segment and offset of each
 *
 * Numbers are doubles.
 */
export const positionSlotBytes = 4096;
const slotHeadBytes = 40;
/** The most open frames in a slot. Further ones are not kept and are read again. */
export const maxOpenFrames = (positionSlotBytes - slotHeadBytes) / 16;

export function writePositionSlot(write: number, { readUpTo, open }: SpoolPosition): Buffer {
  const numbers = [readUpTo.segment, readUpTo.offset, open.length, ...open.flatMap((one) => [one.segment, one.offset])];
  const slot = Buffer.alloc(16 + 8 * numbers.length);
  for (const [i, number] of numbers.entries()) slot.writeDoubleLE(number, 16 + 8 * i);
  slot.writeDoubleLE(write, 0);
  slot.writeDoubleLE(crc32(slot.subarray(16), write >>> 0), 8);
  return slot;
}

/** Returns the newer of the two slots; undefined when neither is whole. */
export function readPositionSlots(bytes: Buffer): (SpoolPosition & { readonly write: number }) | undefined {
  const slots = [0, positionSlotBytes].flatMap(
    (at) => readPositionSlot(bytes.subarray(at, at + positionSlotBytes)) ?? [],
  );
  return slots.toSorted((a, b) => b.write - a.write)[0];
}

function readPositionSlot(slot: Buffer): (SpoolPosition & { readonly write: number }) | undefined {
  if (slot.length < slotHeadBytes) return undefined;
  const write = slot.readDoubleLE(0);
  const count = slot.readDoubleLE(32);
  const end = slotHeadBytes + 16 * count;
  if (write < 1 || !(count >= 0 && end <= slot.length)) return undefined;
  if (crc32(slot.subarray(16, end), write >>> 0) !== slot.readDoubleLE(8)) return undefined;
  const offset = (at: number): SpoolOffset => ({ segment: slot.readDoubleLE(at), offset: slot.readDoubleLE(at + 8) });
  const open = Array.from({ length: count }, (_, i) => offset(slotHeadBytes + 16 * i));
  return { write, readUpTo: offset(16), open };
}
