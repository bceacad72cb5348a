import { addressLayout, spaceFor, type Workspace } from "../../../record/index.ts";
import type { AddressSlots } from "./address-slots.ts";
import { flowLocality, localities, renderedLocalities } from "../objects/locality.ts";

/** What the kernel of flows reads to find addresses by itself, laid out as {@link addressLayout} says, and what it counts. */
export interface ControlBlock {
  readonly at: number;
  /** Shows the slots in use, and where their texts lie. */
  show(slots: AddressSlots, arenaAt: number): void;
  setTime(now: number, tagBase: number, isOn: boolean): void;
  /** Says that texts have room for where their fields begin. */
  setFields(): void;
  hits(): number;
  matches(): number;
}

/** Room for the text of a flow's locality. */
const textBytes = 32;
export const controlBlockBytes = spaceFor(addressLayout.controlBytes) + 3 * spaceFor(textBytes);

/** @param locality whether flows get a locality by both their ends. */
export function createControlBlock(workspace: Workspace, locality: boolean): ControlBlock {
  const { view } = workspace;
  const at = workspace.allocate(addressLayout.controlBytes);
  if (locality) writeLocalities(workspace, at);
  return {
    at,
    show(slots, arenaAt) {
      view.setUint32(at + addressLayout.controlSlots, slots.at, true);
      view.setUint32(at + addressLayout.controlMask, slots.mask, true);
      view.setUint32(at + addressLayout.controlArena, arenaAt, true);
    },
    setTime(now, tagBase, isOn) {
      view.setInt32(at + addressLayout.controlNow, now, true);
      view.setInt32(at + addressLayout.controlTag, tagBase, true);
      view.setUint32(at + addressLayout.controlIsOn, isOn ? 1 : 0, true);
    },
    setFields: () => view.setUint32(at + addressLayout.controlHasFields, 1, true),
    hits: () => view.getFloat64(at + addressLayout.controlHits, true),
    matches: () => view.getFloat64(at + addressLayout.controlMatches, true),
  };
}

/** Puts down what both ends of a flow add together, by their localities. */
function writeLocalities(workspace: Workspace, control: number): void {
  const { view, bytes } = workspace;
  view.setUint32(control + addressLayout.controlHasFinish, 1, true);
  const places = new Map(
    Object.values(renderedLocalities).map((text) => {
      const at = workspace.allocate(textBytes);
      bytes.set(text, at);
      return [text, at] as const;
    }),
  );
  localities.forEach((source, i) => {
    localities.forEach((destination, j) => {
      const locality = flowLocality(source, destination);
      if (locality === undefined) return;
      const text = renderedLocalities[locality];
      const at = control + addressLayout.controlFinish + 8 * (8 * i + j);
      view.setUint32(at, places.get(text) as number, true);
      view.setUint32(at + 4, text.length, true);
    });
  });
}
