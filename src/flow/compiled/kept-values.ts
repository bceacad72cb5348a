import type { LineEnricher } from "../../record/index.ts";

/** Places of values that something else in the line follows from. Numbers are -1 where they are absent. */
export const kept = {
  sourcePort: 0,
  destinationPort: 1,
  protocol: 2,
  icmpType: 3,
  icmpCode: 4,
  octets: 5,
  packets: 6,
  sourceSystem: 7,
  destinationSystem: 8,
  /** Where an address is in the datagram, and behind it how many bytes it has; 0 where it is absent. */
  source: 9,
  destination: 11,
  /** 1 where the record has such a field, else 0. */
  hasVersion: 13,
  hasSourceVlan: 14,
  hasDestinationVlan: 15,
  /** Two places that nobody reads, for what need not be kept. */
  spare: 16,
  /** For each of the number additions: the number, and behind it its scope. */
  numbers: 18,
} as const;

const firstPlace = kept.source;

/** How a value is kept: the number itself, where an address is, or that there is any. */
export type KeepKind = "number" | "address" | "presence";

export interface Keep {
  readonly kind: KeepKind;
  readonly place: number;
}

const always: readonly (readonly [name: string, keep: Keep])[] = [
  ["flow.src.l4.port.id", { kind: "number", place: kept.sourcePort }],
  ["flow.dst.l4.port.id", { kind: "number", place: kept.destinationPort }],
  ["l4.proto.id", { kind: "number", place: kept.protocol }],
  ["icmp.type.id", { kind: "number", place: kept.icmpType }],
  ["icmp.code.id", { kind: "number", place: kept.icmpCode }],
  ["flow.bytes", { kind: "number", place: kept.octets }],
  ["flow.packets", { kind: "number", place: kept.packets }],
  ["flow.src.as.asn", { kind: "number", place: kept.sourceSystem }],
  ["flow.dst.as.asn", { kind: "number", place: kept.destinationSystem }],
  ["flow.src.ip.addr", { kind: "address", place: kept.source }],
  ["flow.dst.ip.addr", { kind: "address", place: kept.destination }],
  ["ip.version.ver", { kind: "presence", place: kept.hasVersion }],
  ["flow.src.vlan.tag.id", { kind: "presence", place: kept.hasSourceVlan }],
  ["flow.dst.vlan.tag.id", { kind: "presence", place: kept.hasDestinationVlan }],
];

/** What is kept of each field, by its name. */
export function keepsByName({ numbers }: LineEnricher): ReadonlyMap<string, readonly Keep[]> {
  const keeps = new Map<string, Keep[]>();
  const add = (name: string, keep: Keep): void => void keeps.set(name, [...(keeps.get(name) ?? []), keep]);
  for (const [name, keep] of always) add(name, keep);
  numbers.forEach(({ field, scope }, i) => {
    add(field, { kind: "number", place: kept.numbers + 2 * i });
    if (scope !== undefined) add(scope, { kind: "number", place: kept.numbers + 2 * i + 1 });
  });
  return keeps;
}

/** The values of a record that has no field at all. */
export function nothingKept({ numbers }: LineEnricher): Float64Array {
  return Float64Array.from({ length: kept.numbers + 2 * numbers.length }, (_, place) =>
    place < firstPlace || place >= kept.numbers ? -1 : 0,
  );
}
