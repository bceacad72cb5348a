import type { Decoder } from "../decoder/decoder.ts";
import {
  createFixedRecordDecoder,
  flowFields,
  padding,
  type FixedLayout,
  type FixedRecordParts,
} from "../fixed-record/fixed-record-decoder.ts";

/** What all records of version 1 begin with ("NetFlow Export Datagram Format", Cisco). */
const fields: FixedLayout = [...flowFields, [padding, 2], [4, 1], [5, 1], [6, 1]];
/** Seven reserved bytes make it 48; some exporters send eleven. */
const layout: FixedLayout = [...fields, [padding, 7]];
const longLayout: FixedLayout = [...fields, [padding, 11]];
const headerLength = 16;
const longRecordLength = 52;

/** NetFlow v1: no sequence numbers, no autonomous systems, no prefix lengths. */
export function createNetflow1Decoder(parts: FixedRecordParts): Decoder {
  const header = { sequence: undefined, domain: 0, rate: undefined };
  const format = {
    protocol: "netflow1",
    version: 1,
    headerLength,
    maxRecords: 24,
    layout: (count: number, bytes: number) =>
      count > 0 && bytes === headerLength + count * longRecordLength ? longLayout : layout,
    readHeader: () => header,
  } as const;
  return createFixedRecordDecoder(format, parts);
}
