import { createHash } from "node:crypto";
import { LineColumns, type ColumnBatch } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { areFlows, recordTypeOf } from "../delivery/line-fields.ts";
import { NativeBlocks } from "./native-block.ts";
import type { SentColumn } from "./sent-column.ts";
import { tableLayouts, tableOfType } from "./table-layout.ts";

/** So many rows are a block: the lines of a batch as it is by default, and some. */
const maxRows = 16_384;

/** The rows of a batch for one table. */
export interface TableInsert {
  /** An index of {@link tableLayouts}. */
  readonly table: number;
  /** Blocks of the format Native, packed. */
  readonly body: Uint8Array;
  /** The columns that they have. */
  readonly columns: readonly string[];
  /** Whether a column of the table is of another type than the one that is sent. */
  readonly isConverted: boolean;
  /** Records whose line was cut off. */
  readonly cut: number;
  /** The positions of its records in the batch, ascending. */
  readonly indexes: readonly number[];
  /** The same for the same records of the same batch: by it the server knows rows that it has. */
  readonly token: string;
}

/** Makes bytes of their own of blocks in memory that is used again: a copy, or one with fewer bytes. */
export type Pack = (blocks: Buffer) => Uint8Array;

/** Makes blocks of lines for one table. */
class TableEncoder {
  readonly #sent: readonly SentColumn[];
  readonly #isConverted: boolean;
  readonly #blocks = new NativeBlocks();
  readonly #columns = new Set<string>();
  #cut = 0;
  #reader: LineColumns | undefined;

  constructor(sent: readonly SentColumn[]) {
    this.#sent = sent;
    this.#isConverted = sent.some(({ isConverted }) => isConverted);
  }

  /** Forgets what a batch left that could not be read to its end. */
  begin(): void {
    this.#reader?.clear();
    this.#blocks.clear();
    this.#columns.clear();
    this.#cut = 0;
  }

  /**
   * Reads whole lines.
   *
   * @param isWanted of rows that are read; when it says no, the rest is not read.
   * @returns whether all were read.
   */
  add(lines: Uint8Array, isWanted: (batch: ColumnBatch) => boolean = () => true): boolean {
    // Most collectors have no records for some of the tables.
    const sources = this.#sent.map(({ source }) => source);
    const reader = (this.#reader ??= new LineColumns(sources, { maxRows, hasRest: true }));
    for (let at = 0; at < lines.length;) {
      const end = reader.take(lines, at);
      if (end < lines.length) {
        if (end === at && reader.rows === 0) throw new Error("a line is too long for a row");
        if (!this.flush(isWanted)) return false;
      }
      at = end;
    }
    return true;
  }

  /** Writes the rows that were read, when they are wanted. @returns whether they were. */
  flush(isWanted: (batch: ColumnBatch) => boolean = () => true): boolean {
    const reader = this.#reader;
    if (reader === undefined || reader.rows === 0) return true;
    const batch = reader.batch();
    if (!isWanted(batch)) return false;
    this.#cut += batch.cutRows;
    for (const name of this.#blocks.write(batch, this.#sent)) this.#columns.add(name);
    reader.clear();
    return true;
  }

  /** Returns what an insert of the lines has. */
  finish(pack: Pack): Pick<TableInsert, "body" | "columns" | "isConverted" | "cut"> {
    this.flush();
    const columns = [...this.#columns];
    return { body: pack(this.#blocks.view()), columns, isConverted: this.#isConverted, cut: this.#cut };
  }
}

/** Makes inserts of the lines of batches: a block of each table that a batch has records for. */
export class TableBlocks {
  readonly #encoders: readonly TableEncoder[];
  readonly #pack: Pack;
  /** Whether all records of the batch before were flows. */
  #wereFlows = true;

  /** @param tables what each of {@link tableLayouts} is sent. */
  constructor(tables: readonly (readonly SentColumn[])[], pack: Pack) {
    this.#encoders = tables.map((sent) => new TableEncoder(sent));
    this.#pack = pack;
  }

  insertsOf(batch: Batch): TableInsert[] {
    const indexes = this.#wereFlows && this.#readFlows(batch) ? [allOf(batch)] : this.#readLines(batch);
    this.#wereFlows = indexes[tableOfType.flow]?.length === batch.count;
    return this.#encoders.flatMap((encoder, table) => {
      const own = indexes[table] ?? [];
      if (own.length === 0) return [];
      return [{ table, indexes: own, token: tokenOf(batch, table, own), ...encoder.finish(this.#pack) }];
    });
  }

  /** Reads the batch as flows. @returns false: not all of it are. Their columns tell that, which takes less than a look at each line. */
  #readFlows({ chunks }: Batch): boolean {
    const encoder = this.#encoders[tableOfType.flow];
    encoder?.begin();
    return encoder !== undefined && chunks.every((chunk) => encoder.add(chunk, areFlows)) && encoder.flush(areFlows);
  }

  /** Reads the lines of each table. @returns their indexes in the batch, by their tables. */
  #readLines(batch: Batch): readonly (readonly number[])[] {
    for (const encoder of this.#encoders) encoder.begin();
    const indexes = tableLayouts.map((): number[] => []);
    forEachRun(batch, (table, lines, first, count) => {
      this.#encoders[table]?.add(lines);
      for (let index = first; index < first + count; index++) indexes[table]?.push(index);
    });
    return indexes;
  }
}

function allOf({ count }: Batch): readonly number[] {
  const indexes: number[] = [];
  for (let index = 0; index < count; index++) indexes.push(index);
  return indexes;
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
  const positions = new Uint32Array(indexes.length);
  for (let i = 0; i < positions.length; i++) positions[i] = positionOf(batch, indexes[i] as number);
  const digest = createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16);
  return `${batchKey(batch.id)}-${tableLayouts[table]?.name ?? ""}-${digest}`;
}
