import type { AppAdditions, LineEnricher, Workspace } from "../../../record/index.ts";
import type { KernelImports } from "../../kernel/kernel.ts";
import * as layout from "../../kernel/layout.ts";
import { moreOfApplication } from "./name-bits.ts";
import type { RecordSlots } from "./record-slots.ts";

/** Writes the applications that follow from addresses and ports. */
export interface AppWriter {
  /** Begins a datagram: says where there are applications. */
  begin(): void;
  readonly write: KernelImports["addApp"];
  /** Reports how many lines got one since the last call. */
  done(): void;
}

const name = "app.name";

/** @param values of the record under way. */
export function createAppWriter(
  { bytes: memory, view }: Workspace,
  { apps = [] }: LineEnricher,
  values: RecordSlots,
): AppWriter {
  const [of] = apps;
  let ports: ReturnType<AppAdditions["ports"]>;
  return {
    begin() {
      const now = of?.ports();
      if (now === ports) return;
      ports = now;
      if (now !== undefined) memory.set(now, layout.appPorts);
      view.setUint8(layout.hasApps, now === undefined ? 0 : 1);
    },
    write(at, source, sourceLength, sourcePort, destination, destinationLength, destinationPort) {
      if (of === undefined || values.isTaken(name)) return at;
      const found = of.find(view, source, sourceLength, sourcePort, destination, destinationLength, destinationPort);
      if (found === undefined) return at;
      if (found.needsFields || values.isTaken(moreOfApplication)) return -1;
      memory.set(found.text, at);
      return at + found.text.length;
    },
    done() {
      const added = view.getUint32(layout.appsAdded, true);
      if (added === 0) return;
      view.setUint32(layout.appsAdded, 0, true);
      of?.added(added);
    },
  };
}
