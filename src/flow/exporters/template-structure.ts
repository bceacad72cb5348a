import type { ElementSource } from "../elements/mapping/element-names.ts";
import type { DataType, ListStructure } from "../elements/registry/information-element.ts";
import { reversePen, findElement } from "../elements/registry/registry.ts";
import type { PacketSection, SectionStart, SlowField, SlowStep, FieldSpecifier, Template } from "./plan.ts";

const topLabel = 70;
const lastLabel = 79;
const basicList = 291;
const structures: ReadonlySet<DataType> = new Set<ListStructure>([
  "basicList",
  "subTemplateList",
  "subTemplateMultiList",
]);

/**
 * Elements that hold the beginning of a packet: dataLinkFrameSection (315), layer2packetSectionData (104) of NetFlow v9,
 * ipHeaderPacketSection (313), mplsLabelStackSection (316), mplsPayloadPacketSection (317).
 */
const sections: ReadonlyMap<number, SectionStart> = new Map<number, SectionStart>([
  [104, "ethernet"],
  [313, "ip"],
  [315, "ethernet"],
  [316, "mpls"],
  [317, "ip"],
]);

/**
 * Elements of sections, and those that say where in the packet each begins and how much of it is no padding: the first of these is of the
 * first section, and so on (RFC 7133 sections 3.2.2 and 3.2.3). Of NetFlow v9 there are others.
 */
const sectionKinds = [
  { elements: [313, 314, 315, 316, 317], offset: 409, size: 410 },
  { elements: [104], offset: 102, size: 103 },
] as const;

/** Returns whether records of a template have the beginning of a packet. */
export function hasSection({ fields, scopeCount }: Template): boolean {
  return scopeCount === undefined && fields.some(({ pen, id }) => pen === 0 && sections.has(id));
}

/** The steps of a template that only the interpreter can do. */
export function buildSlowSteps(
  { fields, dialect, scopeCount }: Template,
  elements: ElementSource,
  splitBiflows: boolean,
): SlowStep[] {
  const steps: SlowStep[] = [];
  const labels: (SlowField & { readonly id: number })[] = [];
  let bounds: ReadonlyMap<number, SectionBounds> | undefined;
  fields.forEach(({ pen, id }, field) => {
    if (dialect === "netflow9" && field < (scopeCount ?? 0)) return;
    if (pen === 0 && id >= topLabel && id <= lastLabel) {
      labels.push({ id, field, hexName: elements.names(pen, id).fallback.hexName });
      return;
    }
    const start = pen === 0 ? sections.get(id) : undefined;
    if (start !== undefined) {
      const name = elements.names(pen, id).fallback.name;
      bounds ??= sectionBounds(fields);
      const { offsetField, sizeField } = bounds.get(field) ?? unbounded;
      steps.push({ kind: "packet", field, start, name, offsetField, sizeField });
      return;
    }
    const type = elements.type(pen, id);
    if (type !== undefined && isStructure(type)) {
      const { names, fallback } = elements.names(pen, id);
      const isNamed = type === "basicList" && !(pen === 0 && id === basicList);
      steps.push({
        kind: "list",
        structure: type,
        field,
        valuesName: isNamed ? names[0]?.name : undefined,
        hexName: fallback.hexName,
      });
    }
  });
  if (labels.length > 0) steps.push({ kind: "labels", fields: labels.toSorted((a, b) => a.id - b.id) });
  if (splitBiflows && scopeCount === undefined && fields.some(isReverse)) steps.push({ kind: "split" });
  return steps;
}

type SectionBounds = Pick<PacketSection, "offsetField" | "sizeField">;
const unbounded: SectionBounds = { offsetField: -1, sizeField: -1 };

/** The fields that say which part of its packet each section is, by its field. */
function sectionBounds(fields: readonly FieldSpecifier[]): ReadonlyMap<number, SectionBounds> {
  const bounds = new Map<number, SectionBounds>();
  for (const { elements, offset, size } of sectionKinds) {
    const fieldsOf = (ids: readonly number[]): number[] =>
      fields.flatMap(({ pen, id }, i) => (pen === 0 && ids.includes(id) ? [i] : []));
    const offsets = fieldsOf([offset]);
    const sizes = fieldsOf([size]);
    fieldsOf(elements).forEach((field, nth) => {
      bounds.set(field, { offsetField: offsets[nth] ?? -1, sizeField: sizes[nth] ?? -1 });
    });
  }
  return bounds;
}

/** Elements of the reverse direction (RFC 5103), and responderOctets and responderPackets, which say the same. */
function isReverse({ pen, id }: FieldSpecifier): boolean {
  return pen === reversePen || (pen === 0 && (id === 232 || id === 299));
}

/** The fields of the template that these steps read. */
export function slowFields(steps: readonly SlowStep[]): ReadonlySet<number> {
  return new Set(
    steps.flatMap((step) => {
      if (step.kind === "list" || step.kind === "packet") return [step.field];
      return step.kind === "labels" ? step.fields.map(({ field }) => field) : [];
    }),
  );
}

function isStructure(type: DataType): type is ListStructure {
  return structures.has(type);
}

/**
 * The packet headers that a template describes, outermost first. An element that a template repeats belongs to the outer
 * header the first time and to the inner one the second time (RFC 7011 section 8).
 */
export interface HeaderLevels {
  /** Fields of each header, by position in the template. */
  readonly fields: readonly ReadonlySet<number>[];
  /** The addresses of both ends among these. A header whose addresses are all zeros is not in the packet. */
  readonly addresses: readonly (readonly number[])[];
  /** The fields of one address family among these that no other header has. Empty where an address is repeated. */
  readonly ofFamily: readonly ReadonlySet<number>[];
}

/** More than this are no headers around one another. */
const maxLevels = 3;

const ipv4 = { source: 8, destination: 12 } as const;
const ipv6 = { source: 27, destination: 28 } as const;
const addresses: readonly number[] = [ipv4.source, ipv4.destination, ipv6.source, ipv6.destination];
/** Elements that exist for one address family only: the addresses, lengths of their prefixes, the prefixes. */
const ofIpv4: ReadonlySet<number> = new Set([8, 12, 9, 13, 44, 45]);
const ofIpv6: ReadonlySet<number> = new Set([27, 28, 29, 30, 170, 169]);
/** All elements that describe headers: those of Ethernet, IP, TCP, UDP, ICMP, IGMP. */
// oxfmt-ignore
const ofHeaders: ReadonlySet<number> = new Set([
  ...ofIpv4, ...ofIpv6,
  4, 5, 6, 7, 11, 31, 32, 33, 54, 56, 58, 60, 64, 80, 88, 139,
  176, 177, 178, 179, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 195, 196, 197,
  204, 205, 207, 224, 243, 244, 245, 246, 256,
]);

/**
 * Finds the headers in a template of flows: an address is repeated, or both address families are there. Elements of which
 * there are fewer than headers belong to the innermost ones; an element that is there once belongs to the flow, whichever
 * header that is, and to no level.
 *
 * @returns undefined where there is one header only.
 */
export function headerLevels({ fields, scopeCount }: Template): HeaderLevels | undefined {
  if (scopeCount !== undefined) return undefined;
  const byElement = headerElements(fields);
  const count = Math.max(...addresses.map((id) => byElement.get(id)?.length ?? 0));
  if (count === 0 || count > maxLevels) return undefined;
  return count === 1 ? levelsByFamily(byElement) : levelsByOrder(byElement, count);
}

/** An address is repeated. */
function levelsByOrder(byElement: ReadonlyMap<number, readonly number[]>, count: number): HeaderLevels {
  const levels = emptyLevels(count);
  for (const [id, indexes] of byElement) {
    if (indexes.length === 1 && !addresses.includes(id)) continue;
    if (indexes.length > count) continue;
    indexes.forEach((index, i) => put(levels, count - indexes.length + i, id, index));
  }
  return levels;
}

/**
 * Each address is there once, in both families: the one that comes first is the outer header's, where a record has both. Exporters
 * that have one template for all packets fill the family that a packet does not have with zeros.
 */
function levelsByFamily(byElement: ReadonlyMap<number, readonly number[]>): HeaderLevels | undefined {
  const firstOf = ({ source, destination }: typeof ipv4 | typeof ipv6): number =>
    Math.min(...[source, destination].flatMap((id) => byElement.get(id) ?? []));
  const first4 = firstOf(ipv4);
  const first6 = firstOf(ipv6);
  if (!Number.isFinite(first4) || !Number.isFinite(first6)) return undefined;
  const level4 = first4 < first6 ? 0 : 1;
  const levels = emptyLevels(2);
  for (const [id, indexes] of byElement) {
    const [first, second, ...more] = indexes as [number, ...number[]];
    if (more.length > 0) continue;
    if (second !== undefined) {
      put(levels, 0, id, first);
      put(levels, 1, id, second);
    } else if (ofIpv4.has(id) || ofIpv6.has(id)) {
      const level = ofIpv4.has(id) ? level4 : 1 - level4;
      put(levels, level, id, first);
      levels.ofFamily[level]?.add(first);
    }
  }
  return levels;
}

function emptyLevels(count: number) {
  return {
    fields: Array.from({ length: count }, () => new Set<number>()),
    addresses: Array.from({ length: count }, (): number[] => []),
    ofFamily: Array.from({ length: count }, () => new Set<number>()),
  };
}

function put(
  { fields, addresses: known }: ReturnType<typeof emptyLevels>,
  level: number,
  id: number,
  index: number,
): void {
  fields[level]?.add(index);
  if (addresses.includes(id)) known[level]?.push(index);
}

/** The fields of each element of headers. All are as wide as their type, so that every value can go under its name. */
function headerElements(fields: readonly FieldSpecifier[]): ReadonlyMap<number, readonly number[]> {
  const byElement = new Map<number, number[]>();
  const odd = new Set<number>();
  fields.forEach(({ pen, id, length }, index) => {
    if (pen !== 0 || length === 0 || !ofHeaders.has(id)) return;
    const [least, most] = widths[findElement(0, id)?.type ?? "octetArray"] ?? [1, 0];
    if (length < least || length > most) odd.add(id);
    const known = byElement.get(id);
    if (known === undefined) byElement.set(id, [index]);
    else known.push(index);
  });
  for (const id of odd) byElement.delete(id);
  return byElement;
}

const widths: Readonly<Partial<Record<DataType, readonly [least: number, most: number]>>> = {
  unsigned8: [1, 1],
  unsigned16: [1, 2],
  unsigned32: [1, 4],
  unsigned64: [1, 8],
  ipv4Address: [4, 4],
  ipv6Address: [16, 16],
  macAddress: [6, 6],
};
