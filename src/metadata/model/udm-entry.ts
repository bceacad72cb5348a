import type { Key } from "../../base/ip/index.ts";

/** Where an entry applies: to the address of an exporter or device, or to the end points of flows. */
export type UdmContext = (typeof udmContexts)[number];
export const udmContexts = ["exporter", "endpoint"] as const;

/** The values of an entry that a client may set. The zero value of each means "not set". */
export interface UdmValues {
  readonly name: string;
  /** As sent: order and repetitions are kept. */
  readonly tags: readonly string[];
  /** Any unsigned 64-bit value. */
  readonly vlan: bigint;
  readonly internal: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** One entry of user-defined metadata. Immutable. */
export interface UdmEntry extends UdmValues {
  readonly key: Key;
  /** What the file says of the entry beyond the schema. Survives every update, goes with the entry. */
  readonly fileOnly?: UdmFileOnly;
}

/** Fields known in the file only. */
export interface UdmFileOnly {
  /** Undefined: everywhere. */
  readonly contexts?: readonly UdmContext[];
  /** YAML text of the fields that are not ours (and of `contexts`), as it is written back below the entry. */
  readonly yaml: string;
}

/** The names that a field mask may carry, besides `key`, which does nothing there. */
export const udmFields = ["name", "tags", "vlan", "internal", "metadata"] as const;
export type UdmField = (typeof udmFields)[number];
