import type { RecordFields } from "../../record/index.ts";
import { addIcmp, completeFlow } from "../complete-flow.ts";
import type { Decoder } from "../decoder.ts";
import type { DecoderParts } from "../decoders.ts";
import { noteUptime } from "../exporter/domain.ts";
import { accountSequence } from "../exporter/sequence.ts";
import type { Protocol } from "../protocol.ts";
import { recordHead, type RecordHead } from "../record-head.ts";
import { buildPlan } from "../template/build-plan.ts";
import type { Plan } from "../template/plan.ts";

/** Element of a layout for bytes that mean nothing. */
export const padding = 210;

/** The elements of a record and their lengths, in order. */
export type FixedLayout = readonly (readonly [element: number, length: number])[];

/** What the header of one version says beyond version, count, uptime and time, which all versions have at its beginning. */
export interface FixedHeader {
  /** Flows sent before; undefined where the version does not number them. */
  readonly sequence: number | undefined;
  /** Tells apart what is numbered for itself. */
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
  /** Adds what the layout has no element for. @param at where the record begins. */
  readonly complete?: (record: RecordFields, bytes: Buffer, at: number) => void;
}

/**
 * The versions of NetFlow before templates: a header that begins with version and count (16 bits each), uptime in
 * milliseconds, seconds and nanoseconds of the export (32 bits each), and records of one length. They are read by the plan
 * of a template, like those of the later versions.
 */
export function createFixedRecordDecoder(format: FixedFormat, { reader, flows, times }: DecoderParts): Decoder {
  const { protocol, version, headerLength, complete } = format;
  const plans = new Map<FixedLayout, Plan>();

  const planOf = (layout: FixedLayout): Plan => {
    const known = plans.get(layout);
    if (known !== undefined) return known;
    const fields = layout.map(([id, length]) => ({ pen: 0, id, length }));
    const plan = buildPlan({ id: 0, dialect: "netflow9", fields, scopeCount: undefined }) as Plan;
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
      const domain = exporter.domain(protocol, domainId);
      const head = recordHead(times, datagram, exporter, {
        type: "netflow",
        version,
        timestamp: hasFraction ? times.fraction(seconds, nanoseconds, 9) : times.seconds(seconds),
        sequence,
        uptime,
      });
      head.push(...more);

      const exportTime = seconds * 1000 + (hasFraction ? Math.floor(nanoseconds / 1_000_000) : 0);
      const manualRate = exporter.manualRate ?? headerRate;
      const range = { bytes, start: headerLength, end: headerLength + Math.min(count, there) * recordLength };
      const context = { head, clock: { exportTime, uptime }, bootTime: undefined };
      if (complete === undefined) {
        flows.read(plan, range, context, { manualRate, own: undefined, whole: undefined, lists: undefined }, output);
      } else {
        let at = headerLength;
        reader.read(plan, range, context, (record) => {
          complete(record, bytes, at);
          at += recordLength;
          addIcmp(record);
          completeFlow(record, manualRate);
          output.flow(record);
        });
      }
      const hasRestarted = noteUptime(domain, uptime);
      if (sequence === undefined) return;
      output.sequence(
        accountSequence(domain.sequence, sequence, { counted: count, flows: count }, hasRestarted, datagram.receivedAt),
      );
    },
  };
}
