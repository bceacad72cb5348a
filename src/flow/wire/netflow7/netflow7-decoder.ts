import type { Decoder } from "../decoder/decoder.ts";
import {
  createFixedRecordDecoder,
  flowFields,
  type FixedLayout,
  type FixedRecordParts,
} from "../fixed-record/fixed-record-decoder.ts";

/** The record of version 7 ("NetFlow Export Datagram Format", Cisco): 52 bytes. */
const layout: FixedLayout = [
  ...flowFields,
  [{ name: "flow.netflow7.flags.fields", type: "unsigned16" }, 1],
  [6, 1],
  [4, 1],
  [5, 1],
  [16, 2],
  [17, 2],
  [9, 1],
  [13, 1],
  [{ name: "flow.netflow7.flags.flow", type: "unsigned16" }, 2],
  [{ name: "flow.router_shortcut.ip.addr", type: "ipv4Address" }, 4],
];

/** NetFlow v7, of Catalyst switches: they name the router whose forwarding they shorten, and say which fields are not valid. */
export function createNetflow7Decoder(parts: FixedRecordParts): Decoder {
  const format = {
    protocol: "netflow7",
    version: 7,
    headerLength: 24,
    maxRecords: 28,
    layout: () => layout,
    readHeader: (bytes: Buffer) => ({ sequence: bytes.readUInt32BE(16), domain: 0, rate: undefined }),
  } as const;
  return createFixedRecordDecoder(format, parts);
}
