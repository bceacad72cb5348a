import type { Workspace } from "../../record/index.ts";
import type { Kernel } from "./kernel.ts";
import * as layout from "./layout.ts";

/**
 * Writes `,"flow.community.id":"…"` at `at` by the rules of the Community ID specification (version 1, seed 0), or nothing where
 * those give none, and returns where it ended. Up to 16 bytes behind it may be overwritten.
 *
 * @param source, destination where the addresses begin in `input`, of `length` bytes each: 4 or 16.
 * @param protocol to `icmpCode`: -1 for a number that the flow does not have.
 */
export type WriteCommunityId = (
  out: DataView,
  at: number,
  input: DataView,
  source: number,
  destination: number,
  length: number,
  protocol: number,
  sourcePort: number,
  destinationPort: number,
  icmpType: number,
  icmpCode: number,
) => number;

/** `,"flow.community.id":"1:`, a digest of 28 characters, a quote. */
export const communityIdLength = 24 + 28 + 1;

/** The kernel's Community ID for lines that no program makes. Lines outside of the workspace get a copy. */
export function createCommunityIdWriter({ bytes: memory, view }: Workspace, kernel: Kernel): WriteCommunityId {
  return (out, at, input, source, destination, length, protocol, sourcePort, destinationPort, icmpType, icmpCode) => {
    for (let i = 0; i < length; i += 4) {
      view.setInt32(layout.communityIdInput + i, input.getInt32(source + i));
      view.setInt32(layout.communityIdInput + 16 + i, input.getInt32(destination + i));
    }
    const isInside = out.buffer === view.buffer;
    const start = isInside ? out.byteOffset + at : layout.communityIdOutput;
    const end = kernel.communityId(
      start,
      layout.communityIdInput,
      layout.communityIdInput + 16,
      length,
      protocol,
      sourcePort,
      destinationPort,
      icmpType,
      icmpCode,
    );
    if (!isInside) {
      new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(memory.subarray(start, end), at);
    }
    return at + end - start;
  };
}
