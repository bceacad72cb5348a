import type { RecordFields } from "../../record/index.ts";
import { dropReasonName } from "./drop-reason-names.ts";

/** How an interface is told. */
const interfaceFormats = { index: 0, discarded: 1, multiple: 2 } as const;

/** The packet came from the device itself, or was for it. */
const internal = 0x3fff_ffff;

/** Puts why a packet was discarded, its code and the name that it has. */
export function putDropReason(record: RecordFields, code: number): void {
  record.set("flow.drop.reason.id", code);
  const name = dropReasonName(code);
  if (name !== undefined) record.set("flow.drop.reason.name", name);
}

/**
 * Puts the interface at which a packet came in or went out: its index, or why the packet was discarded, or to how many
 * interfaces it went (0: to several, it is not known how many).
 */
export function putInterface(record: RecordFields, side: "in" | "out", format: number, value: number): void {
  if (format === interfaceFormats.index && value === internal) record.set(`flow.${side}.netif.isInternal`, true);
  else if (format === interfaceFormats.index) record.set(`flow.${side}.netif.index`, value);
  else if (format === interfaceFormats.discarded && side === "out") {
    putDropReason(record, value);
  } else if (format === interfaceFormats.multiple && side === "out") record.set("flow.out.netif.count", value);
  else {
    record.set(`flow.${side}.netif.format.id`, format);
    record.set(`flow.${side}.netif.value`, value);
  }
}
