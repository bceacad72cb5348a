import type { TemplateRecord } from "../exporters/known-templates.ts";
import { type ByteRange, type Decoder, createRecordHeads } from "./records/decoder.ts";
import { templateProblem, type TemplateProblem } from "./netflow9-decoder.ts";
import type { FieldSpecifier } from "../exporters/plan.ts";
import { noteHeader } from "../exporters/domain.ts";
import { accountSequence, type SequenceUnits } from "../exporters/sequence.ts";
import {
  decodeDataSet,
  defineTemplates,
  detailOf,
  refuseTemplate,
  replayWaiting,
  type Message,
  type TemplateDecoderParts,
} from "./records/decode-sets.ts";
import { isZero, readSets, type SetRange } from "./records/decoder.ts";

/** A template record without fields: the template, or all of the set's kind, is no longer valid. */
interface Withdrawal {
  readonly withdrawn: number;
}

interface IpfixTemplatesRead {
  readonly records: readonly (TemplateRecord | Withdrawal)[];
  /** Why the rest of the set cannot be read. */
  readonly problem: TemplateProblem | undefined;
}

const firstTemplateId = 256;
const enterpriseBit = 0x8000;

/**
 * The templates of a template set (2) or an options template set (3), RFC 7011 section 3.4. A malformed template ends
 * the reading, because the beginning of the next is unknown; what is too short for a header is padding.
 */
export function readIpfixTemplates({ bytes, start, end }: ByteRange, isOptions: boolean): IpfixTemplatesRead {
  const records: (TemplateRecord | Withdrawal)[] = [];
  const setId = isOptions ? 3 : 2;
  let at = start;
  while (end - at >= 4) {
    const id = bytes.readUInt16BE(at);
    const count = bytes.readUInt16BE(at + 2);
    if (id === 0 && count === 0) break;
    const fail = (why: string): IpfixTemplatesRead => ({ records, problem: templateProblem("template", id, why) });
    if (count === 0) {
      if (id < firstTemplateId && id !== setId) return fail("its id is reserved");
      records.push({ withdrawn: id });
      at += 4;
      continue;
    }
    if (id < firstTemplateId) return fail("its id is reserved");
    const headerLength = isOptions ? 6 : 4;
    if (end - at < headerLength) return fail("it runs past the end of its set");
    const scopeCount = isOptions ? bytes.readUInt16BE(at + 4) : undefined;
    if (scopeCount !== undefined && scopeCount > count) return fail("it has more scope fields than fields");
    const { fields, next } = readFields(bytes, at + headerLength, end, count);
    if (fields.length < count) return fail("it runs past the end of its set");
    records.push({ template: { id, dialect: "ipfix", fields, scopeCount }, raw: bytes.subarray(at, next) });
    at = next;
  }
  return { records, problem: undefined };
}

/** Field specifiers, section 3.2: as many as are there, at most `count`. */
function readFields(
  bytes: Buffer,
  start: number,
  end: number,
  count: number,
): { fields: FieldSpecifier[]; next: number } {
  const fields: FieldSpecifier[] = [];
  let at = start;
  while (fields.length < count && end - at >= 4) {
    const id = bytes.readUInt16BE(at);
    const length = bytes.readUInt16BE(at + 2);
    if (id < enterpriseBit) {
      fields.push({ pen: 0, id, length });
      at += 4;
    } else {
      if (end - at < 8) break;
      fields.push({ pen: bytes.readUInt32BE(at + 4), id: id - enterpriseBit, length });
      at += 8;
    }
  }
  return { fields, next: at };
}

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
        clockOffset: domain.clock.correction,
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
