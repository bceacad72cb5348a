import type { LineBuffer } from "../../../record/index.ts";
import * as layout from "../kernel/layout.ts";

/** Memory that the kernel writes lines to. */
export interface Piece {
  readonly start: number;
  readonly limit: number;
  /** Whether the lines have to be copied from there. */
  readonly isLong: boolean;
}

/** Memory for lines: that of the line buffer, or of the kernel where that is outside of the workspace. */
export interface Pieces {
  /** @param bytes the least that it must have. */
  open(bytes: number): Piece;
  /** Takes the lines that were written. */
  close(piece: Piece, end: number, count: number): void;
}

/** The kernel has no more memory for one piece of lines. */
const maxSlab = layout.longLineEnd - layout.longLine;

/**
 * @param memory of the workspace.
 * @param slack bytes behind a line that may be overwritten.
 */
export function createPieces(lines: LineBuffer, memory: Uint8Array, flushBytes: number, slack: number): Pieces {
  return {
    open(bytes) {
      const at = lines.open(Math.min(bytes, maxSlab));
      const { buffer, byteOffset, length } = lines.bytes;
      if (buffer !== memory.buffer) return { start: layout.longLine, limit: layout.longLineEnd, isLong: true };
      const start = byteOffset + at;
      return { start, limit: Math.min(byteOffset + length, start + Math.max(flushBytes, bytes)), isLong: false };
    },
    close({ start, isLong }, end, count) {
      if (!isLong) lines.close(end - lines.bytes.byteOffset, count);
      else if (count > 0) {
        const at = lines.open(end - start + slack);
        lines.bytes.set(memory.subarray(start, end), at);
        lines.close(at + end - start, count);
      }
    },
  };
}
