import type { VarBind } from "../var-bind.ts";
import { enter, expectEnd, peekTag, readInteger32, type Cursor } from "./ber-reader.ts";
import { sizeOf, writeHeader, writeInteger, type Writer } from "./ber-writer.ts";
import { DecodeError, type ValueFault } from "./decode-error.ts";
import { tags } from "./tags.ts";
import { readVarBinds, writeVarBinds } from "./var-bind-codec.ts";

const pduTags = {
  get: 0xa0,
  getNext: 0xa1,
  response: 0xa2,
  set: 0xa3,
  getBulk: 0xa5,
  inform: 0xa6,
  trap: 0xa7,
  report: 0xa8,
} as const;

export type PduType = keyof typeof pduTags;

const pduTypes = new Map(Object.entries(pduTags).map(([type, tag]) => [tag as number, type as PduType]));

/**
 * A protocol data unit (RFC 3416 section 3; version 1 has the same shape). In a getBulk the two error fields carry
 * non-repeaters and max-repetitions.
 */
export interface Pdu {
  readonly type: PduType;
  readonly requestId: number;
  readonly errorStatus: number;
  readonly errorIndex: number;
  readonly varbinds: readonly VarBind[];
  /** What is odd about values of a PDU that was read; undefined: nothing. */
  readonly faults?: readonly ValueFault[];
}

/** The front of a PDU, enough to see whose answer it is; {@link readPduRest} reads on. */
export interface PduFront {
  readonly type: PduType;
  readonly requestId: number;
  readonly rest: Cursor;
}

export function readPduFront(cursor: Cursor): PduFront {
  const tag = peekTag(cursor);
  const type = pduTypes.get(tag);
  if (type === undefined) throw new DecodeError(`PDU with tag 0x${tag.toString(16)}`);
  const rest = enter(cursor, tag);
  return { type, requestId: readInteger32(rest, tags.integer), rest };
}

export function readPduRest({ type, requestId, rest }: PduFront): Pdu {
  const errorStatus = readInteger32(rest, tags.integer);
  const errorIndex = readInteger32(rest, tags.integer);
  const faults: ValueFault[] = [];
  const varbinds = readVarBinds(rest, faults);
  expectEnd(rest);
  return { type, requestId, errorStatus, errorIndex, varbinds, ...(faults.length > 0 && { faults }) };
}

export function writePdu(writer: Writer, pdu: Pdu): void {
  const mark = sizeOf(writer);
  writeVarBinds(writer, pdu.varbinds);
  writeInteger(writer, tags.integer, pdu.errorIndex);
  writeInteger(writer, tags.integer, pdu.errorStatus);
  writeInteger(writer, tags.integer, pdu.requestId);
  writeHeader(writer, pduTags[pdu.type], mark);
}
