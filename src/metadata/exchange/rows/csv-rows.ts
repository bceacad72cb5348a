import { Parser, type CsvError, type Options } from "csv-parse";
import { type FaultList, rowsOfABlock, type Row, type RowBlocks } from "../import-rows.ts";

export interface CsvOptions {
  /** The delimiter, one character. The default is that of comma, semicolon, tab and bar which is most frequent in the first line. */
  readonly delimiter?: string | undefined;
  /** The beginning of lines that are skipped, such as `#`. If left out, no line is skipped. */
  readonly comment?: string | undefined;
  /** The names of the columns of a text without a header line. */
  readonly header?: readonly string[] | undefined;
  /**
   * True selects the dialect of Infoblox. There, a row whose first cell is `header-network` names the columns of the rows whose first cell is
   * `network`. A text has several such headers.
   */
  readonly hasTypedHeaders?: boolean | undefined;
}

const delimiters = [",", ";", "\t", "|"] as const;
/** The most characters of one row. */
const longestRow = 1024 * 1024;
const typedHeader = "header-";

/** Yields records by RFC 4180, with any delimiter. Quoted cells may have delimiters, line breaks and doubled quotes. */
export async function* csvRows(text: AsyncIterable<string>, options: CsvOptions, faults: FaultList): RowBlocks {
  const rows = new RowMaker(options, faults);
  let parser: RecordParser | undefined;
  let head = "";
  for await (const chunk of text) {
    if (parser === undefined) {
      head += chunk;
      const end = head.indexOf("\n");
      if (end < 0 && head.length < longestRow) continue;
      parser = begin(head, options, rows, faults);
      head = "";
    } else await write(parser, chunk);
    yield* rows.take();
  }
  parser ??= begin(head, options, rows, faults);
  await finish(parser);
  yield* rows.take();
}

class RowMaker {
  readonly #options: CsvOptions;
  readonly #faults: FaultList;
  #made: Row[] = [];
  #number = 0;
  #header: readonly string[] | undefined;
  readonly #typed = new Map<string, readonly string[]>();

  constructor(options: CsvOptions, faults: FaultList) {
    this.#options = options;
    this.#faults = faults;
    this.#header = options.header;
  }

  get number(): number {
    return this.#number;
  }

  add(cells: string[], line: number): void {
    this.#number++;
    if (cells.every((cell) => cell === "")) return;
    if (this.#options.hasTypedHeaders === true) this.#addTyped(cells, line);
    else if (this.#header === undefined) this.#header = cells.map((name) => name.trim());
    else this.#push(cells, this.#header, line);
  }

  /** Yields the rows made since the last call. */
  *take(): Generator<readonly Row[], void> {
    const rows = this.#made;
    this.#made = [];
    for (let i = 0; i < rows.length; i += rowsOfABlock) yield rows.slice(i, i + rowsOfABlock);
  }

  #addTyped(cells: string[], line: number): void {
    const type = cells[0] ?? "";
    if (type.toLowerCase().startsWith(typedHeader)) {
      this.#typed.set(type.slice(typedHeader.length).toLowerCase(), cells);
      return;
    }
    const columns = this.#typed.get(type.toLowerCase());
    if (columns === undefined) {
      const reason = `there is no header "${typedHeader}${type}" above this row`;
      this.#faults.add({ row: this.#number, line, column: "", field: "", reason });
    } else this.#push(cells, columns, line);
  }

  #push(cells: string[], columns: readonly string[], line: number): void {
    if (cells.length !== columns.length) {
      const reason = `the row has ${cells.length} cells, but the header has ${columns.length}`;
      this.#faults.add({ row: this.#number, line, column: "", field: "", reason });
      return;
    }
    this.#made.push({ number: this.#number, line, header: columns, values: cells });
  }
}

function begin(head: string, options: CsvOptions, rows: RowMaker, faults: FaultList): RecordParser {
  // Spreadsheets write and read this line to name the delimiter.
  const named = /^sep=(.)\r?\n/.exec(head);
  const text = named === null ? head : head.slice(named[0].length);
  const parser = new RecordParser(rows, faults, named === null ? 0 : 1, {
    delimiter: options.delimiter ?? named?.[1] ?? guessDelimiter(text),
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: longestRow,
    skip_records_with_error: true,
    ...(options.comment === undefined ? {} : { comment: options.comment, comment_no_infix: true }),
    on_skip: (error: CsvError | undefined) => {
      parser.fault(error);
      return undefined;
    },
  });
  // Nobody reads its output. Without this call it would never end.
  parser.resume();
  parser.on("error", (error: CsvError) => parser.fault(error));
  parser.write(text);
  return parser;
}

/** Passes each record on at once. The arguments of `on_record` would cost as much as the parsing. */
class RecordParser extends Parser {
  readonly #rows: RowMaker;
  readonly #faults: FaultList;
  /** The difference between a line's number and the parser's number, which counts a line break of two characters in a cell twice. */
  #shift: number;
  /** The parser's number of the line where the last record or fault ended, and the number of empty lines and comments before it. */
  #end = 0;
  #without = 0;
  #isBroken = false;

  /** @param before the number of lines that the parser does not get. */
  constructor(rows: RowMaker, faults: FaultList, before: number, options: Options) {
    super(options);
    this.#rows = rows;
    this.#faults = faults;
    this.#shift = before;
  }

  override push(record: string[] | null): boolean {
    if (record === null) return super.push(null);
    const { lines } = this.info;
    const isLong = lines - this.#end > 1;
    const returns = isLong ? countIn("\r", record) : 0;
    const start = isLong ? lines - countIn("\n", record) - returns : lines;
    if (this.#isBroken) this.#noteGap(start);
    this.#noteEnd();
    this.#rows.add(record, start + this.#shift);
    this.#shift -= returns;
    return true;
  }

  fault(error: CsvError | undefined): void {
    const [from, to] = this.#unread(this.info.lines);
    this.#noteEnd();
    this.#isBroken = true;
    const isClosed = error?.code === "CSV_INVALID_CLOSING_QUOTE";
    if (!isClosed && error?.code !== "CSV_QUOTE_NOT_CLOSED") {
      this.#add(to, 1, error?.message ?? "the row cannot be read");
      return;
    }
    const what = from === to ? "it is not read" : `lines ${from} to ${to} are not read`;
    const how = isClosed ? `meets another one in line ${to}, which does not end a cell` : "is not closed";
    this.#add(from, to - from + 1, `a quote in the row of line ${from} ${how}: ${what}`);
  }

  /** Adds a fault for lines that belong to no record, because a faulty row swallowed them. */
  #noteGap(start: number): void {
    this.#isBroken = false;
    if (this.#next() >= start) return;
    const [from, to] = this.#unread(start - 1);
    this.#add(from, to - from + 1, `not read up to line ${to}: a quote in the row before takes that in`);
  }

  #add(line: number, lines: number, reason: string): void {
    this.#faults.add({ row: this.#rows.number + 1, line, column: "", field: "", reason, ...(lines > 1 && { lines }) });
  }

  /** Returns the parser's number of the first line after the last record or fault. */
  #next(): number {
    return this.#end + this.info.empty_lines + this.info.comment_lines - this.#without + 1;
  }

  #noteEnd(): void {
    this.#end = this.info.lines;
    this.#without = this.info.empty_lines + this.info.comment_lines;
  }

  /** Returns the first and the last line that are in no record, up to the line with this parser's number. */
  #unread(last: number): [from: number, to: number] {
    const breakLength = this.options.record_delimiter[0]?.length ?? 1;
    const from = this.#next() + this.#shift;
    const to = from + Math.floor((last - this.#next()) / breakLength);
    this.#shift = to - last;
    return [from, to];
  }
}

function write(parser: RecordParser, chunk: string): Promise<void> {
  return new Promise((resolve) => parser.write(chunk, () => resolve()));
}

function finish(parser: RecordParser): Promise<void> {
  return new Promise((resolve) => {
    // The fault is already recorded.
    parser.once("error", () => resolve());
    parser.once("end", resolve);
    parser.end();
  });
}

/** Returns the delimiter that is most frequent in the first line, outside of quotes. */
function guessDelimiter(text: string): string {
  const end = text.indexOf("\n");
  const line = (end < 0 ? text : text.slice(0, end)).replaceAll(/"[^"]*"/g, "");
  const count = (sign: string): number => line.split(sign).length;
  return delimiters.reduce((best, sign) => (count(sign) > count(best) ? sign : best));
}

function countIn(character: string, cells: readonly string[]): number {
  let found = 0;
  for (const cell of cells) {
    for (let at = cell.indexOf(character); at >= 0; at = cell.indexOf(character, at + 1)) found++;
  }
  return found;
}
