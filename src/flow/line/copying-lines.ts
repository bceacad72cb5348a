import { copyLines, type AllocateSlab, type Sink, type Workspace } from "../../record/index.ts";
import { lines, linesEnd } from "../kernel/layout.ts";

/** Memory of a workspace for lines that a sink may keep: it is used again and again, and the sink gets copies. */
export function copyingLines(
  { bytes: memory }: Workspace,
  sink: Sink,
): { readonly allocate: AllocateSlab; readonly sink: Sink } {
  const slab = memory.subarray(lines, linesEnd);
  return {
    allocate: (bytes) => (bytes <= slab.length ? slab : Buffer.allocUnsafeSlow(bytes)),
    sink: {
      ...sink,
      write: (written, count) => sink.write(written.buffer === memory.buffer ? copyOf(written) : written, count),
    },
  };
}

function copyOf(written: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(written.length);
  copyLines(written, 0, written.length, copy, 0);
  return copy;
}
