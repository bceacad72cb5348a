import type { TemplateRecord } from "../../exporters/exporter.ts";
import type { SetRange } from "../template/read-sets.ts";
import type { ByteRange } from "../decoder/flow-reader.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";

export interface TemplatesRead {
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
 * How many records more a message has by its sets than its header counts, templates and data: infinity where that cannot be said. Found when it is
 * asked first, and once.
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
