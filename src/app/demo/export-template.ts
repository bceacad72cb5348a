import { familyBits, type Address, type Family } from "../../ip/index.ts";
import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";
import { packetSet, type PacketSet } from "./flow-packets.ts";

/** One field of a template: an IANA information element, its length, and how a flow fills it. */
export interface TemplateField {
  readonly id: number;
  readonly length: number;
  write(record: Buffer, at: number, flow: DemoFlow, state: ExportState): void;
}

export interface Template {
  readonly id: number;
  readonly fields: readonly TemplateField[];
}

type UintOf = (flow: DemoFlow, state: ExportState) => number;

const uint = (id: number, length: number, value: UintOf): TemplateField => ({
  id,
  length,
  write: (record, at, flow, state) => void record.writeUIntBE(value(flow, state), at, length),
});

const uint64 = (id: number, value: (flow: DemoFlow) => number): TemplateField => ({
  id,
  length: 8,
  write: (record, at, flow) => void record.writeBigUInt64BE(BigInt(value(flow)), at),
});

const addressField = (id: number, family: Family, value: (flow: DemoFlow) => Address): TemplateField => {
  const length = familyBits(family) / 8;
  return {
    id,
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
export const netflow9FlowTemplates: Readonly<Record<Family, Template>> = {
  4: { id: 256, fields: [...addresses(4), ...common, ...netflowV9Tail()] },
  6: { id: 257, fields: [...addresses(6), ...common, ...netflowV9Tail()] },
};

/** IPFIX: 64-bit counters, times in milliseconds since the epoch. */
export const ipfixFlowTemplates: Readonly<Record<Family, Template>> = {
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

/** The data sets of a datagram: one for each family that the flows have. */
export function encodeSets(
  templates: Readonly<Record<Family, Template>>,
  flows: readonly DemoFlow[],
  state: ExportState,
): PacketSet[] {
  return ([4, 6] as const).flatMap((family) => {
    const ofFamily = flows.filter((flow) => flow.source.family === family);
    const template = templates[family];
    return ofFamily.length === 0 ? [] : [packetSet(template.id, encodeRecords(template, ofFamily, state))];
  });
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
