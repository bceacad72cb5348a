import type { ElementSource } from "../elements/mapping/element-names.ts";
import type { DataType, ListStructure } from "../elements/registry/information-element.ts";
import { reversePen } from "../elements/registry/registry.ts";
import type { PacketSection, SectionStart, SlowField, SlowStep } from "./plan.ts";
import type { FieldSpecifier, Template } from "./plan.ts";

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

/** Whether records of a template have the beginning of a packet. */
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
    fieldsOf(elements).forEach((field, turn) => {
      bounds.set(field, { offsetField: offsets[turn] ?? -1, sizeField: sizes[turn] ?? -1 });
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
