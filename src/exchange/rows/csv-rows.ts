import { Parser, type CsvError, type Options } from "csv-parse";
import type { FaultList } from "../fault-list.ts";
import { rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

export interface CsvOptions {
  /** One character; left out: the one of comma, semicolon, tab and bar that the first line has most of. */
  readonly delimiter?: string | undefined;
  /** What a line begins with that is to be skipped: `#`. Left out: none is. */
  readonly comment?: string | undefined;
  /** The names of the columns of a text without a header line. */
  readonly header?: readonly string[] | undefined;
  /**
   * The dialect of Infoblox: a first cell `header-network` names the columns of the rows whose first cell is `network`, and
   * a text has several such headers.
   */
  readonly hasTypedHeaders?: boolean | undefined;
}

const delimiters = [",", ";", "\t", "|"] as const;
/** Characters of one row. */
const longestRow = 1024 * 1024;
const typedHeader = "header-";

/** The records of RFC 4180, with any delimiter: quoted cells may hold delimiters, line breaks and doubled quotes. */
export async function* csvRows(text: AsyncIterable<string>, options: CsvOptions, faults: FaultList): RowBlocks {
  const rows = createRowMaker(options, faults);
  let parser: RecordParser | undefined;
  let head = "";
  for await (const piece of text) {
    if (parser === undefined) {
      head += piece;
      const end = head.indexOf("\n");
      if (end < 0 && head.length < longestRow) continue;
      parser = begin(head, options, rows, faults);
      head = "";
    } else await write(parser, piece);
    yield* rows.take();
  }
  parser ??= begin(head, options, rows, faults);
  await finish(parser);
  yield* rows.take();
}

interface RowMaker {
  add(cells: string[], line: number): void;
  /** What was made since the last call. */
  take(): Generator<readonly Row[], void>;
  readonly number: number;
}

function createRowMaker(options: CsvOptions, faults: FaultList): RowMaker {
  let made: Row[] = [];
  let number = 0;
  let header: readonly string[] | undefined = options.header;
  const typed = new Map<string, readonly string[]>();

  const addTyped = (cells: string[], line: number): void => {
    const type = cells[0] ?? "";
    if (type.toLowerCase().startsWith(typedHeader)) {
      typed.set(type.slice(typedHeader.length).toLowerCase(), cells);
      return;
    }
    const columns = typed.get(type.toLowerCase());
    if (columns === undefined) {
      const reason = `there is no header "${typedHeader}${type}" above this row`;
      faults.add({ row: number, line, column: "", field: "", reason });
    } else push(cells, columns, line);
  };

  const push = (cells: string[], columns: readonly string[], line: number): void => {
    if (cells.length !== columns.length) {
      const reason = `the row has ${cells.length} cells, but the header has ${columns.length}`;
      faults.add({ row: number, line, column: "", field: "", reason });
      return;
    }
    made.push({ number, line, header: columns, values: cells });
  };

  return {
    get number() {
      return number;
    },
    add(cells, line) {
      number++;
      if (cells.every((cell) => cell === "")) return;
      if (options.hasTypedHeaders === true) addTyped(cells, line);
      else if (header === undefined) header = cells.map((name) => name.trim());
      else push(cells, header, line);
    },
    *take() {
      const rows = made;
      made = [];
      for (let i = 0; i < rows.length; i += rowsOfABlock) yield rows.slice(i, i + rowsOfABlock);
    },
  };
}

function begin(head: string, options: CsvOptions, rows: RowMaker, faults: FaultList): RecordParser {
  // Spreadsheets write this line, and read it, to name the delimiter.
  const named = /^sep=(.)\r?\n/.exec(head);
  const text = named === null ? head : head.slice(named[0].length);
  const before = named === null ? 0 : 1;
  let lines = 0;
  const parser = new RecordParser(
    (cells, linesBefore) => {
      const isLong = linesBefore - lines > 1;
      lines = linesBefore;
      rows.add(cells, before + lines - (isLong ? countBreaks(cells) : 0));
    },
    {
      delimiter: options.delimiter ?? named?.[1] ?? guessDelimiter(text),
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: longestRow,
      skip_records_with_error: true,
      ...(options.comment === undefined ? {} : { comment: options.comment, comment_no_infix: true }),
      on_skip: (error: CsvError | undefined) => {
        parser.fault(error, before, rows, faults);
        return undefined;
      },
    },
  );
  // Nothing is read from it. Without this it would not end.
  parser.resume();
  parser.on("error", (error: CsvError) => parser.fault(error, before, rows, faults));
  parser.write(text);
  return parser;
}

/** Gives each record at once, with the number of lines up to its end. What `on_record` is given costs as much as the parsing. */
class RecordParser extends Parser {
  readonly #take: (cells: string[], lines: number) => void;

  constructor(take: (cells: string[], lines: number) => void, options: Options) {
    super(options);
    this.#take = take;
  }

  override push(record: string[] | null): boolean {
    if (record === null) return super.push(null);
    this.#take(record, this.info.lines);
    return true;
  }

  /** @param before lines that the parser was not given. */
  fault(error: CsvError | undefined, before: number, rows: RowMaker, faults: FaultList): void {
    const end = typeof error?.["lines"] === "number" ? before + error["lines"] : 0;
    const row = { row: rows.number + 1, column: "", field: "" };
    const isClosed = error?.code === "CSV_INVALID_CLOSING_QUOTE";
    if (!isClosed && error?.code !== "CSV_QUOTE_NOT_CLOSED") {
      faults.add({ ...row, line: end, reason: error?.message ?? "the row cannot be read" });
      return;
    }
    // What was taken for one cell, from the quote on.
    const { field } = (this as unknown as { api: { state: { field: { toString(encoding: "utf8"): string } } } }).api
      .state;
    const cell = field.toString("utf8").replace(/\n$/, "");
    const line = end - countBreaks([cell]);
    const lines = end - line + 1;
    const what = lines === 1 ? "it is not read" : `lines ${line} to ${end} are not read`;
    const how = isClosed ? `meets another one in line ${end}, which does not end a cell` : "is not closed";
    faults.add({ ...row, line, lines, reason: `the quote that opens in line ${line} ${how}: ${what}` });
  }
}

function write(parser: RecordParser, piece: string): Promise<void> {
  return new Promise((resolve) => parser.write(piece, () => resolve()));
}

function finish(parser: RecordParser): Promise<void> {
  return new Promise((resolve) => {
    // With its fault told.
    parser.once("error", () => resolve());
    parser.once("end", resolve);
    parser.end();
  });
}

/** The delimiter that the first line has most of, outside of quotes. */
function guessDelimiter(text: string): string {
  const end = text.indexOf("\n");
  const line = (end < 0 ? text : text.slice(0, end)).replaceAll(/"[^"]*"/g, "");
  const count = (sign: string): number => line.split(sign).length;
  return delimiters.reduce((best, sign) => (count(sign) > count(best) ? sign : best));
}

function countBreaks(cells: readonly string[]): number {
  let breaks = 0;
  for (const cell of cells) {
    for (let at = cell.indexOf("\n"); at >= 0; at = cell.indexOf("\n", at + 1)) breaks++;
  }
  return breaks;
}
