import type { Decoder } from "../decoder/decoder.ts";
import { isOtherBoot, noteHeader, noteUptime } from "../../exporters/domain.ts";
import { accountSequence } from "../../exporters/sequence/sequence.ts";
import { createRecordHeads } from "../decoder/record-head.ts";
import {
  decodeDataSet,
  defineTemplates,
  detailOf,
  refuseTemplate,
  replayWaiting,
  type Message,
  type TemplateDecoderParts,
} from "../template/decode-sets.ts";
import { readSets, type SetRange } from "../template/read-sets.ts";
import { excessRecords, readNetflow9OptionsTemplates, readNetflow9Templates } from "./read-netflow9-templates.ts";

const headerLength = 20;
const templateSetId = 0;
const optionsTemplateSetId = 1;
const firstDataSetId = 256;
/** Sequence numbers count datagrams. */
const oneDatagram = { counted: 1, flows: 1 };

/**
 * NetFlow v9 (RFC 3954). Templates are scoped by address, source port and Source ID, for several exporters may send by one address; see
 * {@link Exporter.template} for a data set whose port has none. The header's count of records is not relied on: exporters disagree on
 * what it counts.
 */
export function createNetflow9Decoder(parts: TemplateDecoderParts): Decoder {
  const { times, reader, flows, settings, questions } = parts;
  const recordHead = createRecordHeads(times);
  return {
    replay: (exporter, output, now) => replayWaiting(parts, "netflow9", exporter, output, now),
    decode(datagram, exporter, output) {
      const { bytes } = datagram;
      if (bytes.length < headerLength) {
        output.problem("short_header", { exporter: exporter.address, bytes: bytes.length });
        return;
      }
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const uptime = view.getUint32(4);
      const seconds = view.getUint32(8);
      const sequence = view.getUint32(12);
      const bootTime = seconds * 1000 - uptime;
      const domain = exporter.process("netflow9", view.getUint32(16), {
        port: datagram.port,
        sequence,
        bootTime,
        uptime,
      });
      const before = questions && { bootTime: domain.senders.latest()?.bootTime ?? bootTime, uptime: domain.uptime };
      noteHeader(domain, datagram, seconds * 1000, uptime);
      const hasRestarted = noteUptime(domain, uptime);
      if (hasRestarted) exporter.isChanged = true;
      if (
        before !== undefined &&
        isOtherBoot(before, { bootTime, uptime }) &&
        questions?.restarted(exporter, datagram.receivedAt) === true
      ) {
        domain.restartedAt = datagram.receivedAt;
        exporter.isChanged = true;
      }
      const head = recordHead(datagram, exporter, {
        type: "netflow",
        version: 9,
        timestamp: times.seconds(seconds),
        sequence,
        domain: domain.id,
        uptime,
      });
      const context = { head, clock: { exportTime: seconds * 1000, uptime }, bootTime: undefined };
      const { sets, problem } = readSets(view, headerLength, bytes.length);
      const message: Message = {
        datagram,
        exporter,
        domain,
        context,
        output,
        reader,
        flows,
        settings,
        questions,
        excess: excessRecords(bytes, sets, (id) => {
          const plan = exporter.template(domain, id)?.plan;
          return plan?.hasVariableLength === false ? plan.minLength : undefined;
        }),
      };
      for (const set of sets) decodeSet(message, set);
      if (problem !== undefined) output.problem("bad_length", detailOf(message, problem));
      output.sequence(accountSequence(domain.sequence, sequence, oneDatagram, hasRestarted, datagram.receivedAt));
    },
  };
}

function decodeSet(message: Message, set: SetRange): void {
  const { output } = message;
  const { id, start, end } = set;
  if (id >= firstDataSetId) {
    output.set("data");
    decodeDataSet(message, set);
  } else if (id === templateSetId || id === optionsTemplateSetId) {
    const isOptions = id === optionsTemplateSetId;
    output.set(isOptions ? "options_template" : "template");
    const range = { bytes: message.datagram.bytes, start, end };
    const { records, problem } = isOptions ? readNetflow9OptionsTemplates(range) : readNetflow9Templates(range);
    defineTemplates(message, records);
    if (problem !== undefined) refuseTemplate(message, "bad_template", problem.id, { why: problem.why });
  } else output.problem("reserved_set", detailOf(message, { set: id }));
}
