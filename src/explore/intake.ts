import { columnOf, LineColumns, LineWalker, type BatchColumn, type ColumnBatch, type Column } from "../record/index.ts";
import { blockRows, columnsOf, hasValue, selectRows, type Block, type BlockColumn } from "./block.ts";
import { isMetadataName } from "./column.ts";

/** Every flow record has the first field; records of options, counters and the like also have the second. */
const flowColumn = columnOf("flow.export.type") as Column;
const otherColumn = columnOf("flow.record.type") as Column;

const lineFeed = 0x0a;
const lineWithoutFields = Buffer.from("{}");
const lineEnd = Buffer.of(lineFeed);

/** Converts lines of records to blocks of rows. */
export class Intake {
  /** The number of flows that became rows. */
  rows = 0;
  /** The number of records whose line was cut off. Their rows have the fields before the cut. */
  cutRecords = 0;
  readonly #maxNames: number;
  readonly #onBlock: (block: Block) => void;
  readonly #onNames: (names: readonly string[]) => readonly Column[];
  readonly #found = new Set<string>();
  /** Metadata names without a column in the present rows. */
  #unknown: string[] = [];
  /** Reports each name once, as long as it is remembered. */
  readonly #names = new LineWalker<undefined>((name) => this.#meet(name));
  readonly #weights = new Uint32Array(blockRows);
  #columns: readonly Column[];
  #reader: LineColumns;

  /**
   * @param maxNames maximum number of columns that metadata may add.
   * @param onBlock receives rows, and must copy them before it returns.
   * @param onNames receives metadata names without a column. It returns the columns of the present and all later rows.
   */
  constructor(
    columns: readonly Column[],
    maxNames: number,
    onBlock: (block: Block) => void,
    onNames: (names: readonly string[]) => readonly Column[],
  ) {
    this.#maxNames = maxNames;
    this.#onBlock = onBlock;
    this.#onNames = onNames;
    this.#columns = columns;
    this.#reader = readerOf(columns);
  }

  /** Reads whole lines that stand for this many records, each for equally many. */
  take(lines: Buffer, records: number): void {
    let weight: number | undefined;
    for (let at = 0; at < lines.length;) {
      const before = this.#reader.rows;
      at = this.#reader.take(lines, at);
      const { rows } = this.#reader;
      weight ??= Math.round(records / (rows - before + countLines(lines, at)));
      this.#weights.fill(weight, before, rows);
      if (at < lines.length || rows === blockRows) this.flush();
    }
  }

  /** Hands over the rows collected so far. */
  flush(): void {
    if (this.#reader.rows === 0) return;
    const batch = this.#reader.batch();
    this.cutRecords += batch.cutRows;
    const further = this.#furtherColumns(batch);
    const block = this.#flowsOf(batch, [...columnsOf(batch), ...further]);
    this.rows += block.rows;
    if (block.rows > 0) this.#onBlock(block);
    if (further.length > 0) this.#reader = readerOf(this.#columns);
    else {
      this.#reader.clear();
      this.#reader.leaveOutKnown();
    }
  }

  /** Creates columns for metadata names that have none, and reads their values, so that no value is lost. */
  #furtherColumns({ rest, texts }: ColumnBatch): readonly BlockColumn[] {
    const others = rest as BatchColumn<"text">;
    if (others.count === 0) return [];
    const lineOf = (code: number): Uint8Array => texts.bytes.subarray(texts.offsets[code], texts.offsets[code + 1]);
    for (const code of others.data) {
      const [from, to] = [texts.offsets[code] as number, texts.offsets[code + 1] as number];
      this.#names.walk(texts.bytes, from, to, () => {});
    }
    if (this.#unknown.length === 0) return [];
    const before = new Set(this.#columns.map(({ field }) => field));
    this.#columns = this.#onNames(this.#unknown);
    this.#unknown = [];
    const lines = [...others.data].flatMap((code) => [code === 0 ? lineWithoutFields : lineOf(code), lineEnd]);
    const reader = new LineColumns(
      this.#columns.filter(({ field }) => !before.has(field)),
      { maxRows: blockRows, hasRest: false, arraysAsJson: true },
    );
    reader.take(Buffer.concat(lines), 0);
    return columnsOf(reader.batch());
  }

  #meet(name: string): undefined {
    if (this.#found.size >= this.#maxNames || this.#found.has(name) || !isMetadataName(name)) return;
    if (this.#columns.some(({ field }) => field === name)) return;
    this.#found.add(name);
    this.#unknown.push(name);
  }

  #flowsOf({ rows }: ColumnBatch, read: readonly BlockColumn[]): Block {
    const flow = read.find(({ column }) => column.field === flowColumn.field);
    const other = read.find(({ column }) => column.field === otherColumn.field);
    const kept = new Set(this.#columns.map(({ field }) => field));
    const block = { rows, weights: this.#weights, columns: read.filter(({ column }) => kept.has(column.field)) };
    if (flow?.count === rows && other === undefined) return block;
    const all = Array.from({ length: rows }, (_, row) => row);
    const isFlow = (row: number): boolean =>
      flow !== undefined && hasValue(flow, row) && !(other !== undefined && hasValue(other, row));
    return selectRows(block, all.filter(isFlow));
  }
}

/** Returns a reader of the columns, and of those that identify a flow. */
function readerOf(columns: readonly Column[]): LineColumns {
  const telling = [flowColumn, otherColumn].filter(({ field }) => columns.every((each) => each.field !== field));
  return new LineColumns([...columns, ...telling], { maxRows: blockRows, hasRest: true, arraysAsJson: true });
}

function countLines(lines: Buffer, from: number): number {
  let count = 0;
  for (let at = from; at < lines.length; count++) {
    const end = lines.indexOf(lineFeed, at);
    at = end < 0 ? lines.length : end + 1;
  }
  return count;
}
