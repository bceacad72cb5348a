import { type Decoder, type FlowReader, createRecordHeads, type RecordHead } from "./records/decoder.ts";
import { noteHeader, noteUptime } from "../exporters/domain.ts";
import { accountSequence } from "../exporters/sequence.ts";
import { nameCounters, type CounterNames } from "../elements/mapping/element-names.ts";
import { convertType } from "../elements/mapping/convert-type.ts";
import { registeredElements, type ElementNames, type ElementSource } from "../elements/mapping/element-names.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import type { Protocol } from "../datagram.ts";
import { buildPlan } from "../exporters/build-plan.ts";
import type { Plan } from "../exporters/plan.ts";

/** Element of a layout for bytes that mean nothing. */
const padding = 210;

/** A field that no element stands for, by its name in a record. */
interface OwnField {
  readonly name: string;
  readonly type: "unsigned16" | "ipv4Address";
}

/** The elements of a record, or what it has instead, and their lengths, in order. */
type FixedLayout = readonly (readonly [element: number | OwnField, length: number])[];

/** The fields that the records of all versions begin with: addresses, interfaces, counters, times and ports. */
const flowFields: FixedLayout = [
  [8, 4],
  [12, 4],
  [15, 4],
  [10, 2],
  [14, 2],
  [2, 4],
  [1, 4],
  [22, 4],
  [21, 4],
  [7, 2],
  [11, 2],
];

/** The fields of one version's header beyond version, count, uptime and time, which all versions have at its beginning. */
interface FixedHeader {
  /** Flows sent before; undefined where the version does not number them. */
  readonly sequence: number | undefined;
  /** The source that numbers its flows on its own. */
  readonly domain: number;
  /** One of how many packets was looked at; undefined where it is not said. */
  readonly rate: number | undefined;
}

/** A version of NetFlow whose records all have the same fields. */
interface FixedFormat {
  readonly protocol: Protocol;
  readonly version: number;
  readonly headerLength: number;
  /** More do not fit into what an exporter sends, so a greater count is a broken header and not a cut datagram. */
  readonly maxRecords: number;
  /** The layout of the records of a datagram. */
  readonly layout: (count: number, bytes: number) => FixedLayout;
  /** @param head gets the fields that the header gives to every record. */
  readonly readHeader: (bytes: Buffer, head: RecordHead) => FixedHeader;
}

/** The parts that these decoders are made of. */
export interface FixedRecordParts {
  readonly times: TimeFormat;
  /** Reads flow records. */
  readonly flows: FlowReader;
  /** The names of the counters. */
  readonly counters: CounterNames;
}

/**
 * The versions of NetFlow before templates: a header that begins with version and count (16 bits each), uptime in
 * milliseconds, seconds and nanoseconds of the export (32 bits each), and records of one length. They are read by the plan
 * of a template, like those of the later versions.
 */
function createFixedRecordDecoder(format: FixedFormat, { flows, times, counters }: FixedRecordParts): Decoder {
  const { protocol, version, headerLength } = format;
  const plans = new Map<FixedLayout, Plan>();
  const recordHead = createRecordHeads(times);

  const planOf = (layout: FixedLayout): Plan => {
    const known = plans.get(layout);
    if (known !== undefined) return known;
    const fields = layout.map(([element, length], i) =>
      typeof element === "number" ? { pen: 0, id: element, length } : { pen: ownPen, id: i, length },
    );
    const template = { id: 0, dialect: "netflow9", fields, scopeCount: undefined } as const;
    const plan = buildPlan(template, { elements: nameCounters(elementsOf(layout), counters) }) as Plan;
    plans.set(layout, plan);
    return plan;
  };

  return {
    decode(datagram, exporter, output) {
      const { bytes } = datagram;
      if (bytes.length < headerLength) {
        output.problem("short_header", { exporter: exporter.address, bytes: bytes.length });
        return;
      }
      const count = bytes.readUInt16BE(2);
      const plan = planOf(format.layout(count, bytes.length));
      const recordLength = plan.minLength;
      const there = Math.floor((bytes.length - headerLength) / recordLength);
      if (count === 0 || count * recordLength + headerLength !== bytes.length) {
        output.problem("bad_count", { exporter: exporter.address, count, bytes: bytes.length });
        if (count > there && count > format.maxRecords) return;
      }
      const uptime = bytes.readUInt32BE(4);
      const seconds = bytes.readUInt32BE(8);
      const nanoseconds = bytes.readUInt32BE(12);
      const hasFraction = nanoseconds < 1_000_000_000;

      const more: RecordHead = [];
      const { sequence, domain: domainId, rate: headerRate } = format.readHeader(bytes, more);
      const exportTime = seconds * 1000 + (hasFraction ? Math.floor(nanoseconds / 1_000_000) : 0);
      const { port } = datagram;
      const domain =
        sequence === undefined
          ? exporter.domain(protocol, domainId)
          : exporter.process(protocol, domainId, { port, sequence, bootTime: exportTime - uptime, uptime });
      noteHeader(domain, datagram, exportTime, uptime, !hasFraction);
      const head = recordHead(datagram, exporter, {
        type: "netflow",
        version,
        timestamp: hasFraction ? times.fraction(seconds, nanoseconds, 9) : times.seconds(seconds),
        sequence,
        uptime,
        clockOffset: domain.clock.correction,
      });
      head.push(...more);

      domain.headerRate = headerRate === 0 ? undefined : headerRate;
      const { manualRate: ownRate, fallbackRate } = exporter.rates();
      // An interval of 0 is one of every packet, unless the operator knows better.
      const saidRate = headerRate === 0 ? (fallbackRate ?? 1) : headerRate;
      const manualRate = ownRate ?? saidRate;
      const range = { bytes, start: headerLength, end: headerLength + Math.min(count, there) * recordLength };
      const context = { head, clock: { exportTime, uptime }, bootTime: undefined };
      flows.read(
        plan,
        range,
        context,
        { manualRate, fallbackRate, own: undefined, whole: undefined, icmp: undefined, lists: undefined },
        output,
      );
      const hasRestarted = noteUptime(domain, uptime);
      if (sequence === undefined) return;
      output.sequence(
        accountSequence(domain.sequence, sequence, { counted: count, flows: count }, hasRestarted, datagram.receivedAt),
      );
    },
  };
}

/** An enterprise number of nobody. */
const ownPen = 0xffff_ffff;

function elementsOf(layout: FixedLayout): ElementSource {
  const namesOf = (position: number): ElementNames | undefined => {
    const element = layout[position]?.[0];
    if (typeof element !== "object") return undefined;
    const { name, type } = element;
    const convert = convertType[type];
    return {
      names: [{ name, convert, preference: 0 }],
      fallback: { name, convert, hexName: name },
      takesEmpty: false,
    };
  };
  return {
    names: (pen, id) => (pen === ownPen ? namesOf(id) : undefined) ?? registeredElements.names(pen, id),
    type: (pen, id) => (pen === ownPen ? undefined : registeredElements.type(pen, id)),
  };
}

/** The fields that all records of version 1 begin with ("NetFlow Export Datagram Format", Cisco). */
const fields: FixedLayout = [...flowFields, [padding, 2], [4, 1], [5, 1], [6, 1]];
/** Seven reserved bytes make it 48; some exporters send eleven. */
const netflow1Layout: FixedLayout = [...fields, [padding, 7]];
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
      count > 0 && bytes === headerLength + count * longRecordLength ? longLayout : netflow1Layout,
    readHeader: () => header,
  } as const;
  return createFixedRecordDecoder(format, parts);
}

/** The record of version 5 ("NetFlow Export Datagram Format", Cisco): 48 bytes. */
const netflow5Layout: FixedLayout = [
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
    layout: () => netflow5Layout,
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

/** The record of version 7 ("NetFlow Export Datagram Format", Cisco): 52 bytes. */
const netflow7Layout: FixedLayout = [
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
    layout: () => netflow7Layout,
    readHeader: (bytes: Buffer) => ({ sequence: bytes.readUInt32BE(16), domain: 0, rate: undefined }),
  } as const;
  return createFixedRecordDecoder(format, parts);
}
