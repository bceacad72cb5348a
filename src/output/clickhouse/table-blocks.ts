import { createHash } from "node:crypto";
import { LineColumns } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import { NativeBlocks } from "./native-block.ts";
import type { SentColumn } from "./sent-column.ts";
import { tableLayouts, tableOfType } from "./table-layout.ts";

/** So many rows are a block: the lines of a batch as it is by default, and some. */
const maxRows = 16_384;

/** The rows of a batch for one table. */
export interface TableInsert {
  /** An index of {@link tableLayouts}. */
  readonly table: number;
  /** Blocks of the format Native. */
  readonly body: Uint8Array;
  /** The columns that they have. */
  readonly columns: readonly string[];
  /** Whether a column of the table is of another type than the one that is sent. */
  readonly isConverted: boolean;
  /** The positions of its records in the batch, ascending. */
  readonly indexes: readonly number[];
  /** The same for the same records of the same batch: by it the server knows rows that it has. */
  readonly token: string;
}

/** Makes blocks of lines for one table. */
class TableEncoder {
  readonly #sent: readonly SentColumn[];
  readonly #isConverted: boolean;
  readonly #blocks: NativeBlocks;
  readonly #columns = new Set<string>();
  #reader: LineColumns | undefined;

  constructor(sent: readonly SentColumn[], blocks: NativeBlocks) {
    this.#sent = sent;
    this.#isConverted = sent.some(({ isConverted }) => isConverted);
    this.#blocks = blocks;
  }

  /** Forgets what a batch left that could not be read to its end. */
  begin(): void {
    this.#reader?.clear();
    this.#blocks.clear();
    this.#columns.clear();
  }

  /** Reads whole lines. */
  add(lines: Uint8Array): void {
    // Most collectors have no records for some of the tables.
    const sources = this.#sent.map(({ source }) => source);
    const reader = (this.#reader ??= new LineColumns(sources, { maxRows, hasRest: true }));
    for (let at = 0; at < lines.length;) {
      const end = reader.take(lines, at);
      if (end < lines.length) {
        if (end === at && reader.rows === 0) throw new Error("a line is too long for a row");
        this.#write(reader);
      }
      at = end;
    }
  }

  /** Returns what an insert of the lines has. */
  finish(): Pick<TableInsert, "body" | "columns" | "isConverted"> {
    if (this.#reader !== undefined) this.#write(this.#reader);
    return { body: this.#blocks.body(), columns: [...this.#columns], isConverted: this.#isConverted };
  }

  #write(reader: LineColumns): void {
    if (reader.rows > 0) for (const name of this.#blocks.write(reader.batch(), this.#sent)) this.#columns.add(name);
    reader.clear();
  }
}

/** Makes inserts of the lines of batches: a block of each table that a batch has records for. */
export class TableBlocks {
  readonly #encoders: readonly TableEncoder[];

  /** @param tables what each of {@link tableLayouts} is sent. */
  constructor(tables: readonly (readonly SentColumn[])[]) {
    this.#encoders = tables.map((sent) => new TableEncoder(sent, new NativeBlocks()));
  }

  insertsOf(batch: Batch): TableInsert[] {
    for (const encoder of this.#encoders) encoder.begin();
    const indexes = tableLayouts.map((): number[] => []);
    forEachRun(batch, (table, lines, first, count) => {
      this.#encoders[table]?.add(lines);
      for (let index = first; index < first + count; index++) indexes[table]?.push(index);
    });
    return this.#encoders.flatMap((encoder, table) => {
      const own = indexes[table] ?? [];
      return own.length === 0 ? [] : [{ table, indexes: own, token: tokenOf(batch, table, own), ...encoder.finish() }];
    });
  }
}

/** The tables that records of a batch go to, as indexes of {@link tableLayouts}. */
export function tablesOf(batch: Batch): ReadonlySet<number> {
  const tables = new Set<number>();
  forEachLine(batch, (lines, from, to) => tables.add(tableOfType[recordTypeOf(lines, from, to)]));
  return tables;
}

/** Calls back for lines one behind the other that go to one table: their index in the batch, and how many they are. */
function forEachRun(
  batch: Batch,
  visit: (table: number, lines: Uint8Array, first: number, count: number) => void,
): void {
  let run = { table: 0, chunk: undefined as Buffer | undefined, from: 0, end: 0, first: 0, count: 0 };
  const finish = ({ table, chunk, from, end, first, count }: typeof run): void => {
    if (chunk !== undefined) visit(table, chunk.subarray(from, end), first, count);
  };
  forEachLine(batch, (chunk, from, to, index) => {
    const table = tableOfType[recordTypeOf(chunk, from, to)];
    if (run.chunk !== chunk || run.table !== table) {
      finish(run);
      run = { table, chunk, from, end: 0, first: index, count: 0 };
    }
    run.end = Math.min(to + 1, chunk.length);
    run.count++;
  });
  finish(run);
}

function tokenOf(batch: Batch, table: number, indexes: readonly number[]): string {
  const positions = Uint32Array.from(indexes, (index) => positionOf(batch, index));
  const digest = createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16);
  return `${batchKey(batch.id)}-${tableLayouts[table]?.name ?? ""}-${digest}`;
}
