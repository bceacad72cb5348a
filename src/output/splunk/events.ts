import { createLineWalker, type LineWalker } from "../../record/index.ts";
import { forEachLine, type Batch } from "../delivery/batch.ts";
import { createBodyWriter } from "../delivery/body-writer.ts";
import type { NameOf } from "../delivery/field-names.ts";
import { endOfValue, fieldKey, findValue } from "../delivery/line-fields.ts";
import { createTimeOf } from "../delivery/record-time.ts";

export interface EventOptions {
  /** Empty: the token's. */
  readonly index: string;
  /** Empty: the token's. */
  readonly source: string;
  readonly sourcetype: string;
}

const hostFields = ["flow.export.ip.addr", "system.ip.addr"];

/** Fields of the data model Network Traffic (Common Information Model) by those of records. */
const cimFields = {
  src_ip: "flow.src.ip.addr",
  dest_ip: "flow.dst.ip.addr",
  src_port: "flow.src.l4.port.id",
  dest_port: "flow.dst.l4.port.id",
  src_mac: "flow.src.mac.addr",
  dest_mac: "flow.dst.mac.addr",
  transport: "l4.proto.name",
  app: "app.name",
  bytes: "flow.bytes",
  packets: "flow.packets",
  dvc: "flow.export.ip.addr",
  src_interface: "flow.in.netif.name",
  dest_interface: "flow.out.netif.name",
  vlan_id: "flow.src.vlan.tag.id",
};

/** Finds in a line what Splunk asks for; it remembers names, so that it is made once. */
export interface EventReader {
  readonly hosts: readonly Buffer[];
  /** What begins each field of the data model. */
  readonly starts: readonly string[];
  /** Calls back with the place of a field among these. */
  readonly cim: LineWalker<number>;
}

/** @param hasCimFields whether the fields of the data model are looked for, too. */
export function createEventReader(nameOf: NameOf, hasCimFields: boolean): EventReader {
  const fields = hasCimFields ? Object.entries(cimFields) : [];
  const uses = new Map(fields.map(([, field], use) => [nameOf(field), use]));
  return {
    hosts: hostFields.map((field) => fieldKey(nameOf(field))),
    starts: fields.map(([name]) => `"${name}":`),
    cim: createLineWalker((name) => uses.get(name)),
  };
}

/** The records of a batch as events: metadata of Splunk around each line, which stays as it is. */
export function encodeEvents(batch: Batch, options: EventOptions, reader: EventReader): Uint8Array {
  const { index, source, sourcetype } = options;
  const { hosts, starts, cim } = reader;
  const fixed = JSON.stringify({ ...(index && { index }), ...(source && { source }), sourcetype }).slice(0, -1);
  const timeOf = createTimeOf();
  const out = createBodyWriter(batch.byteLength + batch.count * (fixed.length + 96));
  let lines = Buffer.alloc(0);
  let isFirst = true;
  const writeField = (use: number, _name: number, value: number, end: number): void => {
    out.text(isFirst ? ',"fields":{' : ",");
    out.text(starts[use] as string);
    out.bytes(lines, value, end);
    isFirst = false;
  };
  forEachLine(batch, (chunk, from, to) => {
    lines = chunk as Buffer<ArrayBuffer>;
    isFirst = true;
    out.text(fixed);
    const time = timeOf(lines, from, to);
    if (time > 0) out.text(`,"time":${(time / 1000).toFixed(3)}`);
    for (const key of hosts) {
      const host = findValue(lines, from, to, key);
      if (host < 0) continue;
      out.text(',"host":');
      out.bytes(lines, host, endOfValue(lines, host, to));
      break;
    }
    if (starts.length > 0) cim.walk(lines, from, to, writeField);
    out.text(isFirst ? ',"event":' : '},"event":');
    out.bytes(lines, from, to);
    out.text("}\n");
  });
  return out.body();
}
