import type { Key } from "../../base/ip/index.ts";
import { otherFields, withOtherFields, type UdmContext, type UdmEntry, type UdmValues } from "../model/entry.ts";

/** The error for a request that cannot start: an invalid map, an unknown format, or a text without rows. */
export class ExchangeError extends Error {
  /** The path of the faulty setting: `map.columns["Prefix"].take`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = "ExchangeError";
    this.field = field;
  }
}

/** One fault of one row. */
export interface ImportFault {
  /** The number of the row. A sheet counts its header as row 1; otherwise the first row is 1. 0 stands for the whole text. */
  readonly row: number;
  /** The line of the text where the row begins; 0 where it has none of its own (JSON). */
  readonly line: number;
  /** The column, or the path in an object, of the value; "" for a fault of the whole row. */
  readonly column: string;
  /** The field of the entry: `key`, `tags[2]`, `metadata[".site"]`; "" for a fault of the whole row. */
  readonly field: string;
  /** A sentence that names the offending value. */
  readonly reason: string;
  /** The number of lines from `line` on that could not be read, with an unknown number of rows. Left out where only this row is affected. */
  readonly lines?: number;
}

/** Collects faults. It counts all and keeps the first ones. A fault that leaves lines unread is always kept. */
export class FaultList {
  readonly #mostKept: number;
  readonly faults: ImportFault[] = [];
  #count = 0;

  constructor(mostKept: number) {
    this.#mostKept = mostKept;
  }

  get count(): number {
    return this.#count;
  }

  add(fault: ImportFault): void {
    if (this.#count++ < this.#mostKept) this.faults.push(fault);
    else if (fault.lines !== undefined) this.faults[this.#mostKept - 1] = fault;
  }
}

/** A record of a sheet, or an object, which becomes one entry. */
export interface Row {
  /** The same as {@link ImportFault.row}. */
  readonly number: number;
  /** The same as {@link ImportFault.line}. */
  readonly line: number;
  /** The names of a sheet's columns, the same object for all rows below one header. Undefined where `values` is an object. */
  readonly header: readonly string[] | undefined;
  /** The cells of a sheet's record, as many as the header has, or the object. */
  readonly values: unknown;
}

/** Rows of a text in blocks, so that other work can run in between. */
export type RowBlocks = AsyncGenerator<readonly Row[], void>;

/** The most rows of a block, and about how many characters it has. */
export const rowsOfABlock = 500;
export const charactersOfABlock = 128 * 1024;

/** The most characters of a row. Real rows are shorter, and reading a longer one would block other work. */
export const longestRow = 1024 * 1024;
export const rowIsTooLong = `the row takes more than ${longestRow} characters`;

/**
 * Decodes bytes in UTF-8, or in UTF-16 with a byte order mark, which some spreadsheets write. The mark is removed.
 *
 * @param mostBytes the most bytes that are accepted.
 * @throws ExchangeError for bytes that are invalid in these encodings, and for too many bytes.
 */
export async function* decodeText(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<string, void> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let head = new Uint8Array(0);
  let size = 0;
  const decode = (chunk: Uint8Array | undefined): string => {
    try {
      return chunk === undefined
        ? (decoder?.decode() ?? "")
        : (decoder as InstanceType<typeof TextDecoder>).decode(chunk, { stream: true });
    } catch {
      throw new ExchangeError(
        "",
        `the text is not ${decoder?.encoding ?? "UTF-8"}, near byte ${size}: save it as UTF-8`,
      );
    }
  };
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > mostBytes) throw new ExchangeError("", `the text is longer than ${mostBytes} bytes`);
    if (decoder !== undefined) {
      yield decode(chunk);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < 2) continue;
    decoder = new TextDecoder(encodingOf(head), { fatal: true });
    yield decode(head);
  }
  if (decoder === undefined) {
    decoder = new TextDecoder("utf-8", { fatal: true });
    yield decode(head);
  }
  yield decode(undefined);
}

function encodingOf(head: Uint8Array): string {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : "utf-8";
}

/** Joins all chunks of a text. */
export async function wholeText(chunks: AsyncIterable<string>): Promise<string> {
  const parts: string[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return parts.join("");
}

/** An entry of an import or export. */
export interface ExchangeEntry extends UdmValues {
  readonly key: Key;
  /** The scope that its row names; undefined where it names none. */
  readonly scope?: string | undefined;
  /** The contexts in which it applies; undefined where it applies everywhere. */
  readonly contexts?: readonly UdmContext[] | undefined;
  /** The unknown fields of the file, as YAML; undefined where the row does not have them. */
  readonly otherFields?: string | undefined;
}

/** Returns the entry in the form of the index. */
export function toUdmEntry({ key, name, tags, vlan, internal, metadata, ...more }: ExchangeEntry): UdmEntry {
  const { contexts, otherFields: others = "" } = more;
  const entry = { key, name, tags, vlan, internal, metadata };
  if (contexts === undefined) return others === "" ? entry : withOtherFields(entry, others);
  const limited = { ...entry, fileOnly: { contexts, yaml: `  contexts: [${contexts.join(", ")}]\n` } };
  return others === "" ? limited : withOtherFields(limited, others);
}

/** Returns the entry in the form of an export. */
export function fromUdmEntry(entry: UdmEntry): ExchangeEntry {
  const { fileOnly, ...values } = entry;
  if (fileOnly === undefined) return entry;
  const others = otherFields(entry);
  return {
    ...values,
    ...(fileOnly.contexts !== undefined && { contexts: fileOnly.contexts }),
    ...(others !== "" && { otherFields: others }),
  };
}
