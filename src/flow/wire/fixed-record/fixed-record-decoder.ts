import type { Decoder } from "../decoder/decoder.ts";
import { noteHeader, noteUptime } from "../../exporters/domain.ts";
import { accountSequence } from "../../exporters/sequence/sequence.ts";
import { nameCounters, type CounterNames } from "../../elements/mapping/counter-names.ts";
import { convertType } from "../../elements/mapping/convert-type.ts";
import { registeredElements, type ElementNames, type ElementSource } from "../../elements/mapping/element-names.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Protocol } from "../../protocol.ts";
import type { FlowReader } from "../decoder/flow-reader.ts";
import { createRecordHeads, type RecordHead } from "../decoder/record-head.ts";
import { buildPlan } from "../../exporters/templates/build-plan.ts";
import type { Plan } from "../../exporters/templates/plan.ts";

/** Element of a layout for bytes that mean nothing. */
export const padding = 210;

/** A field that no element stands for, by its name in a record. */
export interface OwnField {
  readonly name: string;
  readonly type: "unsigned16" | "ipv4Address";
}

/** The elements of a record, or what it has instead, and their lengths, in order. */
export type FixedLayout = readonly (readonly [element: number | OwnField, length: number])[];

/** What the records of all versions begin with: addresses, interfaces, counters, times and ports. */
export const flowFields: FixedLayout = [
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

/** What the header of one version says beyond version, count, uptime and time, which all versions have at its beginning. */
export interface FixedHeader {
  /** Flows sent before; undefined where the version does not number them. */
  readonly sequence: number | undefined;
  /** The source that numbers its flows on its own. */
  readonly domain: number;
  /** One of how many packets was looked at; undefined where it is not said. */
  readonly rate: number | undefined;
}

/** A version of NetFlow whose records all have the same fields. */
export interface FixedFormat {
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

/** What these decoders are made of. */
export interface FixedRecordParts {
  readonly times: TimeFormat;
  /** Reads flow records. */
  readonly flows: FlowReader;
  /** What the counters are called. */
  readonly counters: CounterNames;
}

/**
 * The versions of NetFlow before templates: a header that begins with version and count (16 bits each), uptime in
 * milliseconds, seconds and nanoseconds of the export (32 bits each), and records of one length. They are read by the plan
 * of a template, like those of the later versions.
 */
export function createFixedRecordDecoder(format: FixedFormat, { flows, times, counters }: FixedRecordParts): Decoder {
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
      const head = recordHead(datagram, exporter, {
        type: "netflow",
        version,
        timestamp: hasFraction ? times.fraction(seconds, nanoseconds, 9) : times.seconds(seconds),
        sequence,
        uptime,
      });
      head.push(...more);

      domain.headerRate = headerRate === 0 ? undefined : headerRate;
      noteHeader(domain, datagram, exportTime, uptime);
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
