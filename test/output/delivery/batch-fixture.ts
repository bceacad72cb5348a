import type { RecordBatch } from "../../../src/output/index.ts";

/** A batch of lines, as the core makes it. */
export function batchOf(lines: readonly string[], number = 0): RecordBatch {
  const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return {
    id: { instance: "abc", number },
    chunks: [chunk],
    count: lines.length,
    byteLength: chunk.length,
    oldestAt: 0,
  };
}
