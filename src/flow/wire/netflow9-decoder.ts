import type { TemplateRecord } from "../exporters/known-templates.ts";
import { type SetRange, readSets } from "./records/decoder.ts";
import { type ByteRange, type Decoder, createRecordHeads } from "./records/decoder.ts";
import type { FieldSpecifier } from "../exporters/plan.ts";
import { isOtherBoot, noteHeader, noteUptime } from "../exporters/domain.ts";
import { accountSequence } from "../exporters/sequence.ts";
import {
  decodeDataSet,
  defineTemplates,
  detailOf,
  refuseTemplate,
  replayWaiting,
  type Message,
  type TemplateDecoderParts,
} from "./records/decode-sets.ts";

interface TemplatesRead {
  readonly records: readonly TemplateRecord[];
  /** Why the rest of the set cannot be read. */
  readonly problem: TemplateProblem | undefined;
}

/** A template that cannot be read. */
export interface TemplateProblem {
  readonly why: string;
  /** The template of which it says that it is another one now; undefined where its id is none. */
  readonly id: number | undefined;
}

/** @param kind what it is called. */
export function templateProblem(kind: string, id: number, why: string): TemplateProblem {
  return { why: `${kind} ${id}: ${why}`, id: id < firstTemplateId ? undefined : id };
}

const firstTemplateId = 256;

/**
 * The templates of a template FlowSet (RFC 3954 section 5.2): id, field count, then type and length of each field.
 * Zeros at the end are padding. A malformed template ends the reading, because the beginning of the next is unknown.
 */
export function readNetflow9Templates({ bytes, start, end }: ByteRange): TemplatesRead {
  const records: TemplateRecord[] = [];
  let at = start;
  while (end - at >= 4) {
    const id = bytes.readUInt16BE(at);
    const count = bytes.readUInt16BE(at + 2);
    if (id === 0 && count === 0) break;
    const next = at + 4 + count * 4;
    const problem = id < firstTemplateId ? "its id is reserved" : checkEnd(count, next, end);
    if (problem !== undefined) return { records, problem: templateProblem("template", id, problem) };
    const fields = readFields(bytes, at + 4, next);
    records.push({
      template: { id, dialect: "netflow9", fields, scopeCount: undefined },
      raw: bytes.subarray(at, next),
    });
    at = next;
  }
  return { records, problem: undefined };
}

/**
 * The templates of an options template FlowSet (RFC 3954 section 6.1): id, bytes of scope specifiers, bytes of option
 * specifiers, then both as type and length. Of option specifiers only the whole ones count: exporters are known that say 9 bytes for two.
 */
export function readNetflow9OptionsTemplates({ bytes, start, end }: ByteRange): TemplatesRead {
  const records: TemplateRecord[] = [];
  let at = start;
  while (end - at >= 6) {
    const id = bytes.readUInt16BE(at);
    const scopeLength = bytes.readUInt16BE(at + 2);
    const scopeCount = scopeLength >> 2;
    const count = scopeCount + (bytes.readUInt16BE(at + 4) >> 2);
    if (id === 0 && count === 0) break;
    const next = at + 6 + 4 * count;
    const problem =
      id < firstTemplateId
        ? "its id is reserved"
        : scopeLength % 4 !== 0
          ? "its lengths are not those of whole fields"
          : checkEnd(count, next, end);
    if (problem !== undefined) return { records, problem: templateProblem("options template", id, problem) };
    const fields = readFields(bytes, at + 6, next);
    const template = { id, dialect: "netflow9", fields, scopeCount } as const;
    records.push({ template, raw: bytes.subarray(at, next) });
    at = next;
  }
  return { records, problem: undefined };
}

function checkEnd(size: number, next: number, end: number): string | undefined {
  if (size === 0) return "it has no fields";
  return next > end ? "it runs past the end of its set" : undefined;
}

function readFields(bytes: Buffer, start: number, end: number): FieldSpecifier[] {
  const fields: FieldSpecifier[] = [];
  for (let at = start; at < end; at += 4) {
    fields.push({ pen: 0, id: bytes.readUInt16BE(at), length: bytes.readUInt16BE(at + 2) });
  }
  return fields;
}

/**
 * Returns a function that says how many records more a message has by its sets than its header counts, templates and data: infinity
 * where that cannot be said. Found when it is asked first, and once.
 *
 * @param lengthOf the length of the records of a template; undefined where that is not known.
 */
export function excessRecords(
  bytes: Buffer,
  sets: readonly SetRange[],
  lengthOf: (templateId: number) => number | undefined,
): () => number {
  let excess: number | undefined;
  return () => (excess ??= countRecords(bytes, sets, lengthOf) - bytes.readUInt16BE(2));
}

function countRecords(
  bytes: Buffer,
  sets: readonly SetRange[],
  lengthOf: (templateId: number) => number | undefined,
): number {
  let count = 0;
  for (const { id, start, end } of sets) {
    if (id >= firstTemplateId) {
      const length = lengthOf(id);
      if (length === undefined) return Number.POSITIVE_INFINITY;
      count += Math.floor((end - start) / length);
    } else if (id === 0) count += readNetflow9Templates({ bytes, start, end }).records.length;
    else if (id === 1) count += readNetflow9OptionsTemplates({ bytes, start, end }).records.length;
  }
  return count;
}

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
        clockOffset: domain.clock.correction,
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
