import { paddedView } from "./write-values.ts";

/** A piece of JSON that many lines have, ready to be copied. */
export interface LineText {
  readonly view: DataView;
  readonly length: number;
}

/** Most names take no more, with all that is around them: this much is copied without a look at the length. */
const chunk = 24;

export function lineText(text: string): LineText {
  const bytes = Buffer.from(text);
  const length = Math.max(chunk, bytes.length);
  return { view: paddedView(Buffer.concat([bytes, Buffer.alloc(length - bytes.length)])), length: bytes.length };
}

/** `,"name":` and what follows it. */
export function nameText(name: string, after = ""): LineText {
  return lineText(`,${JSON.stringify(name)}:${after}`);
}

/** Returns where it ends; up to 24 bytes behind may be overwritten. */
export function putText(out: DataView, at: number, text: LineText): number {
  const { view, length } = text;
  out.setFloat64(at, view.getFloat64(0, true), true);
  out.setFloat64(at + 8, view.getFloat64(8, true), true);
  out.setFloat64(at + 16, view.getFloat64(16, true), true);
  for (let i = chunk; i < length; i += 8) out.setFloat64(at + i, view.getFloat64(i, true), true);
  return at + length;
}

/** Pieces of JSON by a small number. */
export interface TextTable {
  readonly texts: DataView;
  /** Where the text of each number begins; one more for the end of the last. */
  readonly starts: Uint32Array;
  readonly maxLength: number;
}

export function textTable(texts: readonly Uint8Array[]): TextTable {
  const starts = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => (starts[i + 1] = (starts[i] as number) + text.length));
  return {
    texts: paddedView(Buffer.concat(texts)),
    starts,
    maxLength: Math.max(...texts.map(({ length }) => length)),
  };
}
