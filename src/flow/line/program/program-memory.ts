import type { Workspace } from "../../../record/index.ts";
import * as layout from "../../kernel/layout.ts";

/** The memory of the kernel for programs and what they refer to: taken piece by piece, given back all at once. */
export interface ProgramMemory {
  /** @returns where the bytes lie now; undefined when there is no room. */
  put(bytes: Uint8Array): number | undefined;
  clear(): void;
  /** Bytes in use. */
  readonly used: number;
}

const alignment = 16;
/** How much may be read behind the end of anything. */
const slack = 16;

export function createProgramMemory({ bytes: memory }: Workspace): ProgramMemory {
  let end = layout.programs;
  return {
    put(bytes) {
      const at = end;
      const next = at + Math.ceil((bytes.length + slack) / alignment) * alignment;
      if (next > layout.programsEnd) return undefined;
      memory.set(bytes, at);
      end = next;
      return at;
    },
    clear: () => void (end = layout.programs),
    get used() {
      return end - layout.programs;
    },
  };
}
