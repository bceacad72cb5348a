import type { FieldsUnderWay, FieldValues, Scalar, Value } from "../../../record/index.ts";
import { toHex, toUnsigned } from "../../elements/mapping/convert-type.ts";
import { bytesLayer, type BytesLayer, type CounterNames } from "../../elements/mapping/counter-names.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { PacketFields } from "../packet/packet-fields.ts";
import type { PacketStart } from "../packet/parse-start.ts";
import type { PacketSection, SectionStart } from "../../exporters/templates/plan.ts";

/** A field with a part of a packet. */
export interface SectionField {
  /** Undefined: it is not the beginning. */
  readonly start: SectionStart | undefined;
  /** For its bytes, where they are no such packet. */
  readonly name: string;
  readonly at: number;
  readonly length: number;
}

/** IANA, "dataLinkFrameType". */
const frameTypes: ReadonlyMap<unknown, PacketStart> = new Map([
  [1, "ethernet"],
  [2, "wireless"],
]);

/** Finds a section of a packet in the record whose fields have been located at these places, without what fills it up. */
export function findSection(
  { field, start, name, offsetField, sizeField }: PacketSection,
  source: FieldSource,
  { offsets, lengths }: Readonly<Record<"offsets" | "lengths", Int32Array>>,
): SectionField {
  const numberOf = (of: number): number | bigint | undefined => {
    const length = lengths[of] ?? 0;
    return length === 0 ? undefined : toUnsigned(source, offsets[of] as number, length);
  };
  const offset = numberOf(offsetField) ?? 0;
  const size = numberOf(sizeField);
  const length = lengths[field] as number;
  return {
    start: offset === 0 ? start : undefined,
    name,
    at: offsets[field] as number,
    length: typeof size === "number" ? Math.min(size, length) : length,
  };
}

/**
 * Puts into a record what the beginning of a packet says and the record itself does not. A record with a packet stands for
 * that packet: where it has no counters, it is one packet of the bytes that the record says it had (dataLinkFrameSize),
 * else of those of its IP header. Bytes in which there are no headers stay bytes.
 */
export function putSection(
  record: FieldsUnderWay,
  source: FieldSource,
  section: SectionField,
  packets: PacketFields,
  { bytes, packets: count }: CounterNames,
): void {
  const { start, name, at, length } = section;
  const first = startOf(record, source.view, start, at);
  const ownLength = record.get("flow.ie.ipTotalLength");
  const said = first && packets.read(source, at, at + length, first, record);
  if (said === undefined || said.size === 0) {
    const hex = toHex(source, at, length) as Scalar;
    const before = record.get(name);
    record.set(name, before === undefined ? hex : [before, hex].flat());
    return;
  }
  for (const [each, value] of said) if (!record.has(each)) record.set(each, value);
  if (start === "mpls") return;
  if (!record.has(count.exported)) record.set(count.exported, 1);
  const size = record.has(bytes.exported) ? undefined : sizeOf(record, ownLength, packets.ipLength);
  if (size === undefined) return;
  record.set(bytesLayer, size.layer);
  record.set(bytes.exported, size.bytes);
}

/**
 * The bytes of a record that has no counter of them.
 *
 * @param ownLength what the record itself says in ipTotalLength. @param ipLength by the IP header, -1 when there is none.
 */
export function sizeOf(
  record: FieldValues,
  ownLength: Value | undefined,
  ipLength: number,
): { readonly bytes: number; readonly layer: BytesLayer } | undefined {
  const frame = record.get("flow.ie.dataLinkFrameSize");
  const bytes = frame ?? ownLength ?? ipLength;
  return typeof bytes === "number" && bytes > 0 ? { bytes, layer: frame === undefined ? "l3" : "l2" } : undefined;
}

/** What a section begins with; undefined when it is none that can be parsed. */
export function startOf(
  record: FieldValues,
  view: DataView,
  start: SectionStart | undefined,
  at: number,
): PacketStart | undefined {
  if (start === "ethernet") {
    const type = record.get("flow.ie.dataLinkFrameType");
    return type === undefined ? "ethernet" : frameTypes.get(type);
  }
  if (start === "mpls" || start === undefined) return start;
  const version = view.getUint8(at) >> 4;
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}
