import type { Decoder } from "../decoder/decoder.ts";
import {
  createFixedRecordDecoder,
  flowFields,
  padding,
  type FixedLayout,
  type FixedRecordParts,
} from "../fixed-record/fixed-record-decoder.ts";
import type { RecordHead } from "../decoder/record-head.ts";

/** The record of version 5 ("NetFlow Export Datagram Format", Cisco): 48 bytes. */
const layout: FixedLayout = [
  ...flowFields,
  [padding, 1],
  [6, 1],
  [4, 1],
  [5, 1],
  [16, 2],
  [17, 2],
  [9, 1],
  [13, 1],
  [padding, 2],
];

/** NetFlow v5. Each engine of an exporter numbers its flows for itself. */
export function createNetflow5Decoder(parts: FixedRecordParts): Decoder {
  const format = {
    protocol: "netflow5",
    version: 5,
    headerLength: 24,
    maxRecords: 30,
    layout: () => layout,
    readHeader(bytes: Buffer, head: RecordHead) {
      const engine = { type: bytes.readUInt8(20), id: bytes.readUInt8(21) };
      const sampling = { mode: bytes.readUInt8(22) >> 6, interval: bytes.readUInt16BE(22) & 0x3fff };
      head.push(["flow.export.engine.type", engine.type], ["flow.export.engine.id", engine.id]);
      if (sampling.interval > 0) head.push(["flow.ie.samplingInterval", sampling.interval]);
      if (sampling.mode > 0) head.push(["flow.ie.samplingAlgorithm", sampling.mode]);
      return {
        sequence: bytes.readUInt32BE(16),
        domain: engine.type * 256 + engine.id,
        rate: sampling.interval,
      };
    },
  } as const;
  return createFixedRecordDecoder(format, parts);
}
