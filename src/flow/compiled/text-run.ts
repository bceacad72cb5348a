/** Source code under construction: statements, and text of a line that is not stored yet. */
export interface CodeWriter {
  /** Adds statements behind the text before them. */
  code(...statements: string[]): void;
  /** Adds text of the line. Neighbouring texts are stored together. */
  text(text: string): void;
  source(): string;
}

/** The source keeps where the line has got to in `p` and stores into the DataView `out`. */
export function createCodeWriter(): CodeWriter {
  const statements: string[] = [];
  let pending = "";

  const flush = (): void => {
    const bytes = Buffer.from(pending);
    pending = "";
    if (bytes.length === 0) return;
    for (let i = 0; i < bytes.length; i += 8) statements.push(storeText(bytes.subarray(i, i + 8), i));
    statements.push(`p = (p + ${bytes.length}) | 0;`);
  };

  return {
    code(...added) {
      flush();
      statements.push(...added);
    },
    text: (text) => void (pending += text),
    source() {
      flush();
      return statements.join("\n");
    },
  };
}

/**
 * A store of up to eight bytes as one number, filled up with blanks: what follows overwrites them. A double takes eight,
 * where integers of 64 bits would be objects; text is never the bits of a NaN, and any other double is written and read by
 * its shortest decimal form without loss.
 */
function storeText(bytes: Uint8Array, offset: number): string {
  const at = offset === 0 ? "p" : `p + ${offset}`;
  const filled = Buffer.alloc(8, " ");
  filled.set(bytes);
  if (bytes.length === 1) return `out.setUint8(${at}, ${filled[0]});`;
  if (bytes.length === 2) return `out.setUint16(${at}, ${filled.readUInt16LE()}, true);`;
  if (bytes.length <= 4) return `out.setInt32(${at}, ${filled.readInt32LE()}, true);`;
  return `out.setFloat64(${at}, ${filled.readDoubleLE()}, true);`;
}
