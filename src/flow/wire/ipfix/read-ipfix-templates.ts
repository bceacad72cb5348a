import type { TemplateRecord } from "../../exporters/exporter.ts";
import type { ByteRange } from "../decoder/flow-reader.ts";
import { templateProblem, type TemplateProblem } from "../netflow9/read-netflow9-templates.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";

/** A template record without fields: the template, or all of the set's kind, is no longer valid. */
export interface Withdrawal {
  readonly withdrawn: number;
}

export interface IpfixTemplatesRead {
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
