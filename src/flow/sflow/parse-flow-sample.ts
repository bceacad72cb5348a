import { createParsedPacket, parsePacket, type ParsedPacket } from "../packet/parse-packet.ts";
import { flowFormats } from "./flow-record-layouts.ts";
import { packetStarts } from "./read-flow-records.ts";
import { padded } from "./xdr-layout.ts";

/** Where in a datagram the parts of a flow sample are. Filled again and again. */
export interface ParsedFlowSample {
  isExpanded: boolean;
  /** The number of the sample; where the sampling rate, the pool and the drops are. */
  sequence: number;
  ratesAt: number;
  sourceType: number;
  sourceIndex: number;
  interfacesAt: number;
  /** Where the number of records is, and the end of the sample. */
  countAt: number;
  end: number;
  /** Bytes of the structures beside the sampled header. */
  structureLength: number;
  frameLength: number;
  /** Whether the packet is of a tunnel, with another in it. */
  hasInner: boolean;
  readonly packet: ParsedPacket;
}

export function createParsedFlowSample(): ParsedFlowSample {
  return {
    isExpanded: false,
    sequence: 0,
    ratesAt: 0,
    sourceType: 0,
    sourceIndex: 0,
    interfacesAt: 0,
    countAt: 0,
    end: 0,
    structureLength: 0,
    frameLength: 0,
    hasInner: false,
    packet: createParsedPacket(),
  };
}

/** Structures of everyday samples are far shorter; room for a line is taken by their length. */
const maxStructures = 4096;

/**
 * Parses a flow sample with one sampled packet, whose lengths and counts are all right. Nothing else has happened.
 *
 * @returns whether it is such a sample.
 */
export function parseFlowSample(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  end: number,
  isExpanded: boolean,
  into: ParsedFlowSample,
): boolean {
  if (end - at < (isExpanded ? 44 : 32)) return false;
  const source = view.getUint32(at + 4);
  into.sourceType = isExpanded ? source : source >>> 24;
  into.sourceIndex = isExpanded ? view.getUint32(at + 8) : source & 0xff_ffff;
  into.isExpanded = isExpanded;
  into.sequence = view.getUint32(at);
  into.ratesAt = at + (isExpanded ? 12 : 8);
  into.interfacesAt = into.ratesAt + 12;
  into.countAt = at + (isExpanded ? 40 : 28);
  into.end = end;

  const count = view.getUint32(into.countAt);
  let position = into.countAt + 4;
  let headerAt = -1;
  let structureLength = 0;
  for (let found = 0; found < count; found++) {
    if (end - position < 8) return false;
    const key = view.getUint32(position);
    const length = view.getUint32(position + 4);
    position += 8;
    if (length > end - position) return false;
    if (key === flowFormats.header) {
      if (headerAt >= 0 || length < 16) return false;
      headerAt = position;
      const headerLength = view.getUint32(position + 12);
      if (headerLength === 0 || headerLength > length - 16) return false;
    } else structureLength += length;
    position = Math.min(end, position + padded(length));
  }
  if (position !== end || headerAt < 0 || structureLength > maxStructures) return false;
  const start = packetStarts[view.getUint32(headerAt)];
  if (start === undefined) return false;
  into.structureLength = structureLength;
  into.frameLength = view.getUint32(headerAt + 4);
  const packetAt = headerAt + 16;
  into.hasInner = parsePacket(bytes, packetAt, packetAt + view.getUint32(headerAt + 12), start, into.packet);
  return true;
}
