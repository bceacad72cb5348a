import type { Convert } from "../../elements/mapping/field-source.ts";
import type { PacketSection, SlowStep, Step } from "../../exporters/templates/plan.ts";
import type { Direction } from "../biflow/direction.ts";

/** What the kernel leaves to this side, within its line. Operations refer to it by its position. */
export type LineHelper =
  /** One value of a field. */
  | { readonly kind: "value"; readonly convert: Convert }
  /** Any result of a step. */
  | { readonly kind: "step"; readonly step: Step; readonly direction: Direction }
  /** What the one section of a packet says. */
  | { readonly kind: "section"; readonly section: PacketSection }
  /** What the one list says. */
  | { readonly kind: "list"; readonly list: Extract<SlowStep, { kind: "list" }> }
  /** What lists and sections of packets in the record say. */
  | { readonly kind: "fields"; readonly direction: Direction };
