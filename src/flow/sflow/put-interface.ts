import type { RecordFields } from "../../record/index.ts";
import { dropReasonName } from "./drop-reason-names.ts";

/** How an interface is told. */
export const interfaceFormats = { index: 0, discarded: 1, multiple: 2 } as const;

/** The packet came from the device itself, or was for it. */
export const internal = 0x3fff_ffff;

/** In place of an index. */
export const several = -2;

const names = {
  in: namesOf("flow.in.netif"),
  out: namesOf("flow.out.netif"),
} as const;

/** Made once: a name that is put together for every packet is hashed for every packet. */
function namesOf(group: string) {
  return {
    index: `${group}.index`,
    isInternal: `${group}.isInternal`,
    count: `${group}.count`,
    format: `${group}.format.id`,
    value: `${group}.value`,
  };
}

/** Puts why a packet was discarded, its code and the name that it has. */
export function putDropReason(record: RecordFields, code: number): void {
  record.set("flow.drop.reason.id", code);
  const name = dropReasonName(code);
  if (name !== undefined) record.set("flow.drop.reason.name", name);
}

/**
 * Puts the interface at which a packet came in or went out: its index, or why the packet was discarded, or to how many
 * interfaces it went (0: to several, it is not known how many).
 *
 * @returns the index; -1 when there is none, -2 where there are several.
 */
export function putInterface(record: RecordFields, side: "in" | "out", format: number, value: number): number {
  const own = names[side];
  if (format === interfaceFormats.index && value !== internal) {
    record.set(own.index, value);
    return value;
  }
  if (format === interfaceFormats.index) record.set(own.isInternal, true);
  else if (format === interfaceFormats.discarded && side === "out") putDropReason(record, value);
  else if (format === interfaceFormats.multiple && side === "out") {
    record.set(own.count, value);
    return several;
  } else {
    record.set(own.format, format);
    record.set(own.value, value);
  }
  return -1;
}

/**
 * The interface at which the packet was sampled tells the direction, where it is one of the two and not both. Where the
 * packet went to several, the data source is one of them when it is not the interface of the way in.
 */
export function putDirection(
  record: RecordFields,
  sourceType: number,
  sourceIndex: number,
  input: number,
  output: number,
): void {
  const isIn = input === sourceIndex;
  const isOut = output === sourceIndex || (output === several && !isIn);
  if (sourceType === 0 && isIn !== isOut) {
    record.set("flow.direction.name", isIn ? "ingress" : "egress");
  }
}
