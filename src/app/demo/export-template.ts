import { familyBits, type Address, type Family } from "../../ip/index.ts";
import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";

/** One field of a template: an IANA information element, its length, and how a flow fills it. */
export interface TemplateField {
  readonly element: number;
  readonly length: number;
  write(record: Buffer, at: number, flow: DemoFlow, state: ExportState): void;
}

export interface Template {
  readonly id: number;
  readonly fields: readonly TemplateField[];
}

type UintOf = (flow: DemoFlow, state: ExportState) => number;

const uint = (element: number, length: number, value: UintOf): TemplateField => ({
  element,
  length,
  write: (record, at, flow, state) => void record.writeUIntBE(value(flow, state), at, length),
});

const uint64 = (element: number, value: (flow: DemoFlow) => number): TemplateField => ({
  element,
  length: 8,
  write: (record, at, flow) => void record.writeBigUInt64BE(BigInt(value(flow)), at),
});

const addressField = (element: number, family: Family, value: (flow: DemoFlow) => Address): TemplateField => {
  const length = familyBits(family) / 8;
  return {
    element,
    length,
    write: (record, at, flow) =>
      void record.write(
        value(flow)
          .value.toString(16)
          .padStart(length * 2, "0"),
        at,
        length,
        "hex",
      ),
  };
};

const addresses = (family: Family): TemplateField[] =>
  family === 4
    ? [addressField(8, 4, (flow) => flow.source), addressField(12, 4, (flow) => flow.destination)]
    : [addressField(27, 6, (flow) => flow.source), addressField(28, 6, (flow) => flow.destination)];

const common: readonly TemplateField[] = [
  uint(7, 2, (flow) => flow.sourcePort),
  uint(11, 2, (flow) => flow.destinationPort),
  uint(4, 1, (flow) => flow.protocol),
  uint(6, 1, (flow) => flow.tcpFlags),
  uint(10, 4, (flow) => flow.inputInterface),
  uint(14, 4, (flow) => flow.outputInterface),
];

/** NetFlow v9: 32-bit counters, times as uptimes (RFC 3954 section 8). */
export const netflowV9Templates: Readonly<Record<Family, Template>> = {
  4: { id: 256, fields: [...addresses(4), ...common, ...netflowV9Tail()] },
  6: { id: 257, fields: [...addresses(6), ...common, ...netflowV9Tail()] },
};

/** IPFIX: 64-bit counters, times in milliseconds since the epoch. */
export const ipfixTemplates: Readonly<Record<Family, Template>> = {
  4: { id: 256, fields: [...addresses(4), ...common, ...ipfixTail()] },
  6: { id: 257, fields: [...addresses(6), ...common, ...ipfixTail()] },
};

function netflowV9Tail(): TemplateField[] {
  return [
    uint(1, 4, (flow) => flow.bytes),
    uint(2, 4, (flow) => flow.packets),
    uint(22, 4, (flow, state) => (flow.start - state.bootTime) >>> 0),
    uint(21, 4, (flow, state) => (flow.end - state.bootTime) >>> 0),
  ];
}

function ipfixTail(): TemplateField[] {
  return [
    uint64(1, (flow) => flow.bytes),
    uint64(2, (flow) => flow.packets),
    uint64(152, (flow) => flow.start),
    uint64(153, (flow) => flow.end),
  ];
}

/**
 * The sets of a datagram: the templates if they are to be sent, then a data set for each family that the flows have.
 *
 * @param templateSetId 0 in NetFlow v9, 2 in IPFIX.
 */
export function encodeSets(
  templateSetId: number,
  templates: Readonly<Record<Family, Template>>,
  flows: readonly DemoFlow[],
  withTemplates: boolean,
  state: ExportState,
): Buffer {
  const sets: Buffer[] = [];
  if (withTemplates) {
    sets.push(encodeSet(templateSetId, Buffer.concat(Object.values(templates).map(encodeTemplate))));
  }
  for (const family of [4, 6] as const) {
    const ofFamily = flows.filter((flow) => flow.source.family === family);
    const template = templates[family];
    if (ofFamily.length > 0) sets.push(encodeSet(template.id, encodeRecords(template, ofFamily, state)));
  }
  return Buffer.concat(sets);
}

/** The template's record in a template set: id, field count, then element and length of each field. */
function encodeTemplate(template: Template): Buffer {
  const record = Buffer.alloc(4 + template.fields.length * 4);
  record.writeUInt16BE(template.id, 0);
  record.writeUInt16BE(template.fields.length, 2);
  template.fields.forEach((field, i) => {
    record.writeUInt16BE(field.element, 4 + i * 4);
    record.writeUInt16BE(field.length, 6 + i * 4);
  });
  return record;
}

/** The flows as data records of the template, one after the other. */
function encodeRecords(template: Template, flows: readonly DemoFlow[], state: ExportState): Buffer {
  const length = template.fields.reduce((sum, field) => sum + field.length, 0);
  const records = Buffer.alloc(length * flows.length);
  let at = 0;
  for (const flow of flows) {
    for (const field of template.fields) {
      field.write(records, at, flow, state);
      at += field.length;
    }
  }
  return records;
}

/** A set: its id and length, then the content, padded with zeros to a multiple of four bytes. */
function encodeSet(id: number, content: Buffer): Buffer {
  const set = Buffer.alloc(4 + Math.ceil(content.length / 4) * 4);
  set.writeUInt16BE(id, 0);
  set.writeUInt16BE(set.length, 2);
  content.copy(set, 4);
  return set;
}
