import { nameText, putText, type LineText } from "../compiled/line-text.ts";
import { writeIpv4, writeIpv6, writeMac, writeUint32 } from "../compiled/write-values.ts";
import { outerNames } from "../packet/put-packet.ts";
import { flowFormats, flowRecordLayouts } from "./flow-record-layouts.ts";
import { gatewayNames, writeGateway } from "./write-gateway.ts";
import type { XdrLayout, XdrType } from "./xdr-layout.ts";

/** What structures of a sample said that something else in its line follows from; -1 is nothing. */
export interface ToldByStructures {
  sourceVlan: number;
  destinationVlan: number;
  sourceSystem: number;
  destinationSystem: number;
}

export interface StructureWriter {
  /** Begins a sample. @param outerTag of its packet, -1 when it has none. */
  begin(outerTag: number): void;
  /**
   * Writes the fields of a structure as {@link createFlowRecordReader} puts them into a record.
   *
   * @returns where they end; -1 when the sample must become fields: a structure that is rare, odd or there twice.
   */
  write(out: DataView, at: number, input: DataView, key: number, from: number, end: number): number;
  readonly told: Readonly<ToldByStructures>;
  /** The fields of a structure take no more room than {@link structureRoom} and this for each of its bytes. */
  readonly maxLengthPerByte: number;
  /** Every name that is written. */
  readonly names: ReadonlySet<string>;
}

export const structureRoom = 512;

const switchFormat = 1001;

const unknown = 0xffff_ffff;

interface FieldText {
  readonly name: LineText;
  readonly type: keyof typeof widths;
}

/** Types whose values are written here, and the least bytes of a value that is. */
const widths = { uint32: 4, count32: 4, mac: 8, ipv4: 4, ipv6: 16, address: 8 } as const;
/** More bytes than a value takes. */
const maxValue = 48;

function isWritable(type: XdrType): type is keyof typeof widths {
  return type in widths;
}

/** @param taken names that the line may have from elsewhere: two values of a name are none of the business here. */
export function createStructureWriter(taken: ReadonlySet<string>): StructureWriter {
  const names = new Set(gatewayNames);
  for (const [name] of flowRecordLayouts.get(switchFormat) ?? []) names.add(name);
  const layouts = new Map<number, { readonly bit: number; readonly fields: readonly FieldText[] }>();
  let maxLengthPerByte = 16;
  for (const [key, layout] of flowRecordLayouts) {
    const fields = fieldTexts(layout);
    if (fields === undefined || layouts.size >= 28) continue;
    if (layout.some(([name]) => taken.has(name) || names.has(name))) continue;
    for (const [name] of layout) names.add(name);
    for (const { name, type } of fields) {
      maxLengthPerByte = Math.max(maxLengthPerByte, Math.ceil((name.length + maxValue) / widths[type]));
    }
    layouts.set(key, { bit: 4 << layouts.size, fields });
  }

  const told: ToldByStructures = { sourceVlan: -1, destinationVlan: -1, sourceSystem: -1, destinationSystem: -1 };
  let seen = 0;
  let outerTag = -1;

  const isSecond = (bit: number): boolean => {
    const isSeen = (seen & bit) !== 0;
    seen |= bit;
    return isSeen;
  };

  return {
    told,
    maxLengthPerByte,
    names,
    begin(tag) {
      outerTag = tag;
      seen = 0;
      told.sourceVlan = told.destinationVlan = told.sourceSystem = told.destinationSystem = -1;
    },
    write(out, at, input, key, from, end) {
      if (key === switchFormat) return isSecond(1) ? -1 : writeSwitch(out, at, input, from, end, outerTag, told);
      if (key === flowFormats.gateway) return isSecond(2) ? -1 : writeGateway(out, at, input, from, end, told);
      const layout = layouts.get(key);
      return layout === undefined || isSecond(layout.bit) ? -1 : writeFields(out, at, input, layout.fields, from, end);
    },
  };
}

function fieldTexts(layout: XdrLayout): FieldText[] | undefined {
  const fields: FieldText[] = [];
  for (const [name, type] of layout) {
    if (!isWritable(type)) return undefined;
    const isText = type !== "uint32" && type !== "count32";
    fields.push({ name: nameText(name, isText ? `"` : ""), type });
  }
  return fields;
}

const quote = 0x22;

function writeFields(
  out: DataView,
  at: number,
  input: DataView,
  fields: readonly FieldText[],
  from: number,
  end: number,
): number {
  let p = at;
  let position = from;
  for (let i = 0; i < fields.length; i++) {
    if (position === end && i > 0) return p;
    const { name, type } = fields[i] as FieldText;
    if (end - position < 4) return -1;
    if (type === "uint32" || type === "count32") {
      const value = input.getUint32(position);
      position += 4;
      if (type === "uint32" || value !== unknown) p = writeUint32(out, putText(out, p, name), value);
      continue;
    }
    let form = type;
    if (form === "address") {
      const family = input.getUint32(position);
      position += 4;
      if (family === 0) continue;
      if (family > 2) return -1;
      form = family === 1 ? "ipv4" : "ipv6";
    }
    const width = form === "ipv4" ? 4 : form === "mac" ? 8 : 16;
    if (end - position < width) return -1;
    p = putText(out, p, name);
    if (form === "ipv4") p = writeIpv4(out, p, input.getUint32(position));
    else if (form === "mac") p = writeMac(out, p, input, position);
    else p = writeIpv6(out, p, input, position);
    out.setUint8(p++, quote);
    position += width;
  }
  return position === end ? p : -1;
}

const switchTexts = {
  sourceVlan: nameText(outerNames.vlan),
  sourcePriority: nameText("flow.src.vlan.priority"),
  destinationVlan: nameText("flow.dst.vlan.tag.id"),
  destinationPriority: nameText("flow.dst.vlan.priority"),
} as const;

/** Extended switch data. A VLAN 0 of the source gives its place to that of the packet's tag. */
function writeSwitch(
  out: DataView,
  at: number,
  input: DataView,
  from: number,
  end: number,
  outerTag: number,
  told: ToldByStructures,
): number {
  if (end - from !== 16) return -1;
  const sourceVlan = input.getUint32(from);
  const sourcePriority = input.getUint32(from + 4);
  const destinationVlan = input.getUint32(from + 8);
  const destinationPriority = input.getUint32(from + 12);
  let p = at;
  if (sourceVlan !== unknown) {
    told.sourceVlan = sourceVlan;
    const vlan = sourceVlan === 0 && outerTag >= 0 ? outerTag & 0xfff : sourceVlan;
    p = writeUint32(out, putText(out, p, switchTexts.sourceVlan), vlan);
  }
  if (sourcePriority !== unknown) p = writeUint32(out, putText(out, p, switchTexts.sourcePriority), sourcePriority);
  if (destinationVlan !== unknown) {
    told.destinationVlan = destinationVlan;
    p = writeUint32(out, putText(out, p, switchTexts.destinationVlan), destinationVlan);
  }
  if (destinationPriority === unknown) return p;
  return writeUint32(out, putText(out, p, switchTexts.destinationPriority), destinationPriority);
}
