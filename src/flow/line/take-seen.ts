import type { Workspace } from "../../record/index.ts";
import * as layout from "../kernel/layout.ts";

/** Takes a flow that the kernel chose. @param hash of 32 bits, of addresses, protocol and ports. @param directions 1: ingress, 2: egress, 0: not known. */
export type NoteFlow = (hash: number, directions: number) => void;

/** Hands over the flows that the kernel chose since the last call. */
export function takeSeen({ view }: Pick<Workspace, "view">, note: NoteFlow): void {
  const count = view.getUint32(layout.seenCount, true);
  if (count === 0) return;
  view.setUint32(layout.seenCount, 0, true);
  for (let i = 0; i < count; i++) {
    const at = layout.seenFlows + layout.seenBytes * i;
    note(view.getUint32(at, true), view.getUint32(at + 4, true));
  }
}
