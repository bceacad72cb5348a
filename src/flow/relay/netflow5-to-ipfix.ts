import { createMessageWriter, ipfixForm } from "./message-writer.ts";
import type { CountDrop } from "./relay-counts.ts";
import type { RelayScope } from "./relay-scope.ts";
import type { AddressField } from "./relay-template.ts";

const headerLength = 24;
const recordLength = 48;
/** Templates are given again after this, milliseconds: a target may have started since. */
const announceEveryMs = 30_000;
const plainId = 256;
const sampledId = 257;

/** Elements and lengths of what a record of NetFlow v5 begins with, and has after the times. */
const specifiers: readonly (readonly [element: number, length: number])[] = [
  [8, 4],
  [12, 4],
  [15, 4],
  [10, 2],
  [14, 2],
  [2, 4],
  [1, 4],
  [152, 8],
  [153, 8],
  [7, 2],
  [11, 2],
  [6, 1],
  [4, 1],
  [5, 1],
  [16, 2],
  [17, 2],
  [9, 1],
  [13, 1],
  [38, 1],
  [39, 1],
];
const sampling: typeof specifiers = [
  [34, 4],
  [35, 1],
];

/** What a datagram of NetFlow v5 is rewritten with. */
export interface Netflow5Context {
  readonly scope: RelayScope;
  readonly field: AddressField;
  readonly maxBytes: number;
  readonly generation: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: number;
  readonly drop: CountDrop;
}

/**
 * Makes IPFIX messages of a datagram of NetFlow v5: its fields, its sampling and engine, and the sender's address. Both number flows, so the
 * sequence numbers stay. Times of flows become milliseconds since the epoch.
 */
export function netflow5ToIpfix(bytes: Buffer, context: Netflow5Context): Buffer[] {
  const { scope, field, maxBytes, generation, now, drop } = context;
  if (bytes.length < headerLength) {
    drop("short_header");
    return [];
  }
  const there = Math.floor((bytes.length - headerLength) / recordLength);
  const said = bytes.readUInt16BE(2);
  const count = Math.min(said, there);
  if (said > there) drop("bad_length");
  const sequence = bytes.readUInt32BE(16);
  const header = Buffer.alloc(ipfixForm.headerLength);
  header.writeUInt16BE(10);
  bytes.copy(header, 4, 8, 12);
  header.writeUInt32BE(scope.id, 12);

  const writer = createMessageWriter(ipfixForm, header, maxBytes);
  if (scope.generation !== generation || now - scope.announcedAt >= announceEveryMs) {
    scope.generation = generation;
    scope.announcedAt = now;
    writer.add(ipfixForm.templateSet, template(plainId, specifiers, field));
    writer.add(ipfixForm.templateSet, template(sampledId, [...specifiers, ...sampling], field));
  }
  const rate = bytes.readUInt16BE(22);
  const tail = Buffer.concat([bytes.subarray(20, 22), samplingOf(rate), field.value]);
  const setId = (rate & 0x3fff) > 0 ? sampledId : plainId;
  const boot = bootTime(bytes);
  for (let i = 0; i < count; i++) {
    const at = headerLength + i * recordLength;
    writer.add(setId, ...recordParts(bytes, at, boot), tail);
  }
  let next = sequence;
  return writer.take().map(({ bytes: message, dataRecords }) => {
    message.writeUInt16BE(message.length, 2);
    message.writeUInt32BE(next, 8);
    next = (next + dataRecords) >>> 0;
    return message;
  });
}

/** The observation domain: engine type and id. */
export function netflow5Domain(bytes: Buffer): number {
  return bytes.length < headerLength ? 0 : bytes.readUInt16BE(20);
}

/** When the uptime was 0, milliseconds since the epoch. */
function bootTime(bytes: Buffer): { readonly at: number; readonly uptime: number } {
  const uptime = bytes.readUInt32BE(4);
  const nanoseconds = bytes.readUInt32BE(12);
  const fraction = nanoseconds < 1_000_000_000 ? Math.floor(nanoseconds / 1_000_000) : 0;
  return { at: bytes.readUInt32BE(8) * 1000 + fraction - uptime, uptime };
}

function samplingOf(rate: number): Buffer {
  const interval = rate & 0x3fff;
  if (interval === 0) return Buffer.alloc(0);
  const value = Buffer.alloc(5);
  value.writeUInt32BE(interval);
  value.writeUInt8(rate >> 14, 4);
  return value;
}

/** A record of NetFlow v5 in the order of the template, without its padding. */
function recordParts(bytes: Buffer, at: number, boot: ReturnType<typeof bootTime>): readonly Uint8Array[] {
  const times = Buffer.alloc(16);
  for (const [i, place] of [24, 28].entries()) {
    const uptime = bytes.readUInt32BE(at + place);
    // The uptime has 32 bits: a time that is far ahead of the header's was before it began again.
    const behind = (boot.uptime - uptime) | 0;
    times.writeBigUInt64BE(BigInt(Math.max(0, boot.at + boot.uptime - behind)), 8 * i);
  }
  const part = (from: number, to: number): Buffer => bytes.subarray(at + from, at + to);
  return [part(0, 24), times, part(32, 36), part(37, 46)];
}

function template(id: number, fields: typeof specifiers, field: AddressField): Buffer {
  const record = Buffer.alloc(4 + 4 * fields.length);
  record.writeUInt16BE(id);
  record.writeUInt16BE(fields.length + 1, 2);
  for (const [i, [element, length]] of fields.entries()) {
    record.writeUInt16BE(element, 4 + 4 * i);
    record.writeUInt16BE(length, 6 + 4 * i);
  }
  return Buffer.concat([record, field.specifier]);
}
