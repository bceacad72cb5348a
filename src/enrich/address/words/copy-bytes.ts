/** Copies bytes by four at a time: for the short texts of fields that is many times faster than asking the engine. */
export function copyBytes(from: DataView, start: number, end: number, into: DataView, at: number): void {
  const move = at - start;
  let i = start;
  for (; i + 4 <= end; i += 4) into.setInt32(i + move, from.getInt32(i, true), true);
  for (; i < end; i++) into.setUint8(i + move, from.getUint8(i));
}

/** Bytes that are copied again and again. */
export interface Piece {
  readonly view: DataView;
  /** Kept apart: a view takes many times longer to say it. */
  readonly length: number;
}

export function createPiece({ buffer, byteOffset, length }: Uint8Array): Piece {
  return { view: new DataView(buffer, byteOffset, length), length };
}
