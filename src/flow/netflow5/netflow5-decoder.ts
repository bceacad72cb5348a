import { completeFlow } from "../complete-flow.ts";
import type { Decoder } from "../decoder.ts";
import { noteUptime } from "../exporter/domain.ts";
import { accountSequence } from "../exporter/sequence.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import { recordHead } from "../record-head.ts";
import { buildPlan } from "../template/build-plan.ts";
import type { Plan } from "../template/plan.ts";
import type { RecordReader } from "../template/record-reader.ts";

const headerLength = 24;
const recordLength = 48;
/** More do not fit into what an exporter sends, so a greater count is a broken header and not a cut datagram. */
const maxRecords = 30;
const padding = 210;

/** The record of version 5 ("NetFlow Export Datagram Format", Cisco) as elements and their lengths. */
const layout: readonly (readonly [element: number, length: number])[] = [
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

/** NetFlow v5. Its fixed record is read by the plan of a template, like those of the later protocols. */
export function createNetflow5Decoder(reader: RecordReader, times: TimeFormat): Decoder {
  const plan = buildPlan({
    id: 0,
    dialect: "netflow9",
    fields: layout.map(([id, length]) => ({ pen: 0, id, length })),
    scopeCount: undefined,
  }) as Plan;

  return {
    decode(datagram, exporter, output) {
      const { bytes } = datagram;
      if (bytes.length < headerLength) {
        output.problem("short_header", { exporter: exporter.address, bytes: bytes.length });
        return;
      }
      const count = bytes.readUInt16BE(2);
      const there = Math.floor((bytes.length - headerLength) / recordLength);
      if (count === 0 || count * recordLength + headerLength !== bytes.length) {
        output.problem("bad_count", { exporter: exporter.address, count, bytes: bytes.length });
        if (count > there && count > maxRecords) return;
      }
      const uptime = bytes.readUInt32BE(4);
      const seconds = bytes.readUInt32BE(8);
      const nanoseconds = bytes.readUInt32BE(12);
      const sequence = bytes.readUInt32BE(16);
      const engine = { type: bytes.readUInt8(20), id: bytes.readUInt8(21) };
      const sampling = { mode: bytes.readUInt8(22) >> 6, interval: bytes.readUInt16BE(22) & 0x3fff };
      const hasFraction = nanoseconds < 1_000_000_000;

      const domain = exporter.domain("netflow5", engine.type * 256 + engine.id);
      const head = recordHead(times, datagram, exporter, {
        type: "netflow",
        version: 5,
        timestamp: hasFraction ? times.fraction(seconds, nanoseconds, 9) : times.seconds(seconds),
        sequence,
        uptime,
      });
      head.push(["flow.export.engine.type", engine.type], ["flow.export.engine.id", engine.id]);
      if (sampling.interval > 0) head.push(["flow.ie.samplingInterval", sampling.interval]);
      if (sampling.mode > 0) head.push(["flow.ie.samplingAlgorithm", sampling.mode]);

      const exportTime = seconds * 1000 + (hasFraction ? Math.floor(nanoseconds / 1_000_000) : 0);
      const rate = exporter.manualRate ?? (sampling.interval > 0 ? sampling.interval : undefined);
      const range = { bytes, start: headerLength, end: headerLength + Math.min(count, there) * recordLength };
      reader.read(plan, range, { head, clock: { exportTime, uptime }, bootTime: undefined }, (record) => {
        completeFlow(record, rate);
        output.flow(record);
      });
      output.sequence(
        accountSequence(domain.sequence, sequence, { counted: count, flows: count }, noteUptime(domain, uptime)),
      );
    },
  };
}
