import { forEachLine, type Batch } from "../delivery/batch.ts";
import { createBodyWriter, type BodyWriter } from "../delivery/body-writer.ts";
import type { NameOf } from "../delivery/field-names.ts";
import { endOfValue, fieldKey, findValue } from "../delivery/line-fields.ts";
import { createTimeOf } from "../delivery/record-time.ts";

export interface EventOptions {
  /** Empty: the token's. */
  readonly index: string;
  /** Empty: the token's. */
  readonly source: string;
  readonly sourcetype: string;
  /** Whether events have the fields of Splunk's Common Information Model (Network Traffic), too. */
  readonly hasCimFields: boolean;
}

const hostFields = ["flow.export.ip.addr", "system.ip.addr"];

/** Fields of the data model Network Traffic by those of records. */
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

/** Where events find what Splunk asks for. */
export interface EventKeys {
  readonly hosts: readonly Buffer[];
  readonly cim: readonly { readonly name: string; readonly key: Buffer }[];
}

export function eventKeys(nameOf: NameOf): EventKeys {
  return {
    hosts: hostFields.map((field) => fieldKey(nameOf(field))),
    cim: Object.entries(cimFields).map(([name, field]) => ({ name: `"${name}":`, key: fieldKey(nameOf(field)) })),
  };
}

/** The records of a batch as events: metadata of Splunk around each line, which stays as it is. */
export function encodeEvents(batch: Batch, options: EventOptions, keys: EventKeys): Uint8Array {
  const { index, source, sourcetype } = options;
  const fixed = JSON.stringify({ ...(index && { index }), ...(source && { source }), sourcetype }).slice(0, -1);
  const timeOf = createTimeOf();
  const out = createBodyWriter(batch.byteLength + batch.count * (fixed.length + 96));
  forEachLine(batch, (lines, from, to) => {
    out.text(fixed);
    const time = timeOf(lines, from, to);
    if (time > 0) out.text(`,"time":${(time / 1000).toFixed(3)}`);
    for (const key of keys.hosts) {
      const host = findValue(lines, from, to, key);
      if (host < 0) continue;
      out.text(',"host":');
      out.bytes(lines, host, endOfValue(lines, host, to));
      break;
    }
    if (options.hasCimFields) writeCimFields(out, keys.cim, lines, from, to);
    out.text(',"event":');
    out.bytes(lines, from, to);
    out.text("}\n");
  });
  return out.body();
}

function writeCimFields(out: BodyWriter, cim: EventKeys["cim"], line: Buffer, from: number, to: number): void {
  let separator = ',"fields":{';
  for (const { name, key } of cim) {
    const value = findValue(line, from, to, key);
    if (value < 0) continue;
    out.text(separator + name);
    out.bytes(line, value, endOfValue(line, value, to));
    separator = ",";
  }
  if (separator === ",") out.text("}");
}
