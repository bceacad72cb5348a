import type { TemplateRecord } from "../../exporters/exporter.ts";
import type { ByteRange } from "../decoder/flow-reader.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";

export interface TemplatesRead {
  readonly records: readonly TemplateRecord[];
  /** Why the rest of the set cannot be read. */
  readonly problem: string | undefined;
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
    if (problem !== undefined) return { records, problem: `template ${id}: ${problem}` };
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
 * specifiers, then both as type and length.
 */
export function readNetflow9OptionsTemplates({ bytes, start, end }: ByteRange): TemplatesRead {
  const records: TemplateRecord[] = [];
  let at = start;
  while (end - at >= 6) {
    const id = bytes.readUInt16BE(at);
    const scopeLength = bytes.readUInt16BE(at + 2);
    const optionLength = bytes.readUInt16BE(at + 4);
    if (id === 0 && scopeLength === 0 && optionLength === 0) break;
    const next = at + 6 + scopeLength + optionLength;
    const problem =
      id < firstTemplateId
        ? "its id is reserved"
        : scopeLength % 4 !== 0 || optionLength % 4 !== 0
          ? "its lengths are not those of whole fields"
          : checkEnd(scopeLength + optionLength, next, end);
    if (problem !== undefined) return { records, problem: `options template ${id}: ${problem}` };
    const fields = readFields(bytes, at + 6, next);
    const template = { id, dialect: "netflow9", fields, scopeCount: scopeLength / 4 } as const;
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
