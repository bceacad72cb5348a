import { endOfValue, fieldKey, findValue } from "../delivery/line-fields.ts";
import { forEachLine, type Batch } from "../delivery/batch.ts";
import { createBodyWriter, type BodyWriter } from "../delivery/body-writer.ts";
import { recordTypeOf } from "../delivery/record-type.ts";
import type { SyslogOutputConfig } from "./syslog-config.ts";

const timestampKey = fieldKey("@timestamp");

type HeaderOf = (lines: Buffer, from: number, to: number) => string;

/**
 * Makes the head of a message (RFC 5424, 6): the record's time and type, no structured data. The message is the JSON object
 * as it is, without a byte order mark: receivers that parse JSON do not expect one.
 */
export function createHeaderOf(config: Omit<SyslogOutputConfig, "kind" | "servers" | "protocol" | "tls">): HeaderOf {
  const head = `<${8 * config.facility + config.severity}>1 `;
  const who = ` ${config.hostName} ${config.appName} - `;
  return (lines, from, to) => {
    const at = findValue(lines, from, to, timestampKey);
    const time = at < 0 ? "-" : lines.toString("latin1", at + 1, endOfValue(lines, at, to) - 1);
    return `${head}${time}${who}${recordTypeOf(lines, from, to)} - `;
  };
}

/** All messages of a batch, each with its length in bytes before it (RFC 6587, 3.4.1; RFC 5425, 4.3). */
export function frameMessages(batch: Batch, headerOf: HeaderOf): Uint8Array {
  const out = createBodyWriter(batch.byteLength + 128 * batch.count);
  forEachLine(batch, (lines, from, to) => {
    const header = headerOf(lines, from, to);
    out.text(`${Buffer.byteLength(header) + to - from} ${header}`);
    out.bytes(lines, from, to);
  });
  return out.body();
}

/** One message in memory of its own: a datagram (RFC 5426, 3.1). */
export function datagramOf(lines: Buffer, from: number, to: number, headerOf: HeaderOf): Uint8Array {
  const header = headerOf(lines, from, to);
  const out: BodyWriter = createBodyWriter(3 * header.length + to - from);
  out.text(header);
  out.bytes(lines, from, to);
  return out.body();
}
