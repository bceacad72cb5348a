import type { AllocateSlab, Sink, Workspace } from "../../record/index.ts";
import { lines, linesEnd } from "./kernel/layout.ts";

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
      write: (written, count) => sink.write(written.buffer === memory.buffer ? Buffer.from(written) : written, count),
    },
  };
}
