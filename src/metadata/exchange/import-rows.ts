import type { Key } from "../../base/ip/index.ts";
import { otherFields, withOtherFields, type UdmContext, type UdmEntry, type UdmValues } from "../model/entry.ts";

/** A request that cannot be begun: a map that says nothing sensible, an unknown format, a text without rows. */
export class ExchangeError extends Error {
  /** The path of the faulty setting: `map.columns["Prefix"].take`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = "ExchangeError";
    this.field = field;
  }
}

/** One thing that is wrong with one row. */
export interface ImportFault {
  /** In a sheet as its program counts, the header being row 1; else the first row is 1. 0: the whole text. */
  readonly row: number;
  /** Line of the text where the row begins; 0 when it has none of its own (JSON). */
  readonly line: number;
  /** The column, or the path in an object, that the value came from; "" when it is about the row. */
  readonly column: string;
  /** The field of the entry: `key`, `tags[2]`, `metadata[".site"]`; "" when it is about the row. */
  readonly field: string;
  /** A sentence that names the offending value. */
  readonly reason: string;
  /** Lines from `line` on that could not be read because of it, so that nobody knows how many rows they have; left out: no more than its row. */
  readonly lines?: number;
}

/** Gathers faults: all are counted, the first ones kept; one that leaves lines unread is among them. */
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

/** A record of a sheet, or an object, that becomes one entry. */
export interface Row {
  /** As {@link ImportFault.row}. */
  readonly number: number;
  /** As {@link ImportFault.line}. */
  readonly line: number;
  /** The names of the columns of a sheet, the same object for all rows below one header; undefined: `values` is an object. */
  readonly header: readonly string[] | undefined;
  /** The cells of a sheet's record, as many as the header has; else the object. */
  readonly values: unknown;
}

/** Rows of a text, some at a time, so that other work can be done in between. */
export type RowBlocks = AsyncGenerator<readonly Row[], void>;

/** Rows given at a time, and about how many characters. */
export const rowsOfABlock = 500;
export const charactersOfABlock = 128 * 1024;

/** Characters of a row at most: none has more, and reading one that has holds others up. */
export const longestRow = 1024 * 1024;
export const rowIsTooLong = `the row takes more than ${longestRow} characters`;

/**
 * The text of bytes in UTF-8, or in UTF-16 with a byte order mark, which some spreadsheets write; the mark is left out.
 *
 * @param mostBytes more are refused.
 * @throws ExchangeError for bytes that are no text in these encodings, and for too many.
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

/** All of a text in one chunk. */
export async function wholeText(chunks: AsyncIterable<string>): Promise<string> {
  const parts: string[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return parts.join("");
}

/** An entry on its way in or out. */
export interface ExchangeEntry extends UdmValues {
  readonly key: Key;
  /** The scope that its row names; undefined: none. */
  readonly scope?: string | undefined;
  /** Contexts where it applies; undefined: everywhere. */
  readonly contexts?: readonly UdmContext[] | undefined;
  /** Fields of the file that mean nothing here, as YAML; undefined: none are said. */
  readonly otherFields?: string | undefined;
}

/** The entry as the index has it. */
export function toUdmEntry({ key, name, tags, vlan, internal, metadata, ...more }: ExchangeEntry): UdmEntry {
  const { contexts, otherFields: others = "" } = more;
  const entry = { key, name, tags, vlan, internal, metadata };
  if (contexts === undefined) return others === "" ? entry : withOtherFields(entry, others);
  const limited = { ...entry, fileOnly: { contexts, yaml: `  contexts: [${contexts.join(", ")}]\n` } };
  return others === "" ? limited : withOtherFields(limited, others);
}

/** The entry on its way out. */
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
