import type { Decoder } from "../decoder/decoder.ts";
import { noteHeader } from "../../exporters/domain.ts";
import type { TemplateRecord } from "../../exporters/exporter.ts";
import { accountSequence, type SequenceUnits } from "../../exporters/sequence/sequence.ts";
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
import { isZero, readSets, type SetRange } from "../template/read-sets.ts";
import { readIpfixTemplates } from "./read-ipfix-templates.ts";

const headerLength = 16;
const templateSetId = 2;
const optionsTemplateSetId = 3;
const firstDataSetId = 256;

/**
 * IPFIX (RFC 7011). Templates are scoped by transport session (address and source port, or TCP connection) and observation
 * domain; see {@link Exporter.template} for a data set whose scope has none.
 */
export function createIpfixDecoder(parts: TemplateDecoderParts): Decoder {
  const { times, reader, flows, settings, questions } = parts;
  const recordHead = createRecordHeads(times);
  return {
    replay: (exporter, output, now) => replayWaiting(parts, "ipfix", exporter, output, now),
    decode(datagram, exporter, output) {
      const { bytes } = datagram;
      if (bytes.length < headerLength) {
        output.problem("short_header", { exporter: exporter.address, bytes: bytes.length });
        return;
      }
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const length = view.getUint16(2);
      const seconds = view.getUint32(4);
      const sequence = view.getUint32(8);
      const domain = exporter.domain("ipfix", view.getUint32(12), datagram.port);
      noteHeader(domain, datagram, seconds * 1000, undefined);
      domain.number = sequence;
      const head = recordHead(datagram, exporter, {
        type: "ipfix",
        version: 10,
        timestamp: times.seconds(seconds),
        sequence,
        domain: domain.id,
      });
      const context = { head, clock: { exportTime: seconds * 1000, uptime: undefined }, bootTime: undefined };
      const message: Message = { datagram, exporter, domain, context, output, reader, flows, settings, questions };
      const { sets, end, problem } = readSets(view, headerLength, Math.min(length, bytes.length));

      let units: SequenceUnits | undefined = noUnits;
      for (const set of sets) units = addUnits(units, decodeSet(message, set));
      if (problem !== undefined) output.problem("bad_length", detailOf(message, problem));
      else if (length > bytes.length || !isZero(view, Math.max(length, end), bytes.length)) {
        output.problem("bad_length", detailOf(message, { length, bytes: bytes.length }));
      }
      const isWhole = length <= bytes.length && problem === undefined;
      const counted = isWhole ? units : undefined;
      const step = accountSequence(domain.sequence, sequence, counted, false, datagram.receivedAt);
      if (step.event === "reset") exporter.isChanged = true;
      output.sequence(step);
    },
  };
}

/** Returns the data records that the set holds; undefined when that is not known. */
function decodeSet(message: Message, set: SetRange): SequenceUnits | undefined {
  const { output } = message;
  const { id, start, end } = set;
  if (id >= firstDataSetId) {
    output.set("data");
    return decodeDataSet(message, set);
  }
  if (id !== templateSetId && id !== optionsTemplateSetId) {
    output.problem("reserved_set", detailOf(message, { set: id }));
    return noUnits;
  }
  const isOptions = id === optionsTemplateSetId;
  output.set(isOptions ? "options_template" : "template");
  const range = { bytes: message.datagram.bytes, start, end };
  const { records, problem } = readIpfixTemplates(range, isOptions);
  for (const record of records) {
    if ("withdrawn" in record) withdraw(message, record.withdrawn, isOptions);
    else defineTemplates(message, [record]);
  }
  if (problem !== undefined) refuseTemplate(message, "bad_template", problem.id, { why: problem.why });
  return noUnits;
}

const noUnits: SequenceUnits = { counted: 0, flows: 0 };

function addUnits(a: SequenceUnits | undefined, b: SequenceUnits | undefined): SequenceUnits | undefined {
  return a && b && { counted: a.counted + b.counted, flows: a.flows + b.flows };
}

/** RFC 7011 section 8.1: the id of the set itself stands for all templates of its kind. */
function withdraw({ exporter, domain, output }: Message, id: number, isOptions: boolean): void {
  const isOfKind = (known: { plan: { template: TemplateRecord["template"] } }): boolean =>
    (known.plan.template.scopeCount !== undefined) === isOptions;
  const ids =
    id < firstDataSetId
      ? [...domain.templates].filter(([, known]) => isOfKind(known)).map(([templateId]) => templateId)
      : [id];
  for (const templateId of ids) if (exporter.withdraw(domain, templateId)) output.template("withdrawn");
}
