import { createHash } from "node:crypto";
import { LineColumns, type ColumnBatch } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { areFlows, recordTypeOf } from "../delivery/line-fields.ts";
import { NativeBlocks } from "./native-block.ts";
import type { SentColumn } from "./sent-column.ts";
import { tableLayouts, tableOfType } from "./table-layout.ts";

/** The rows of a block: a little more than the lines of a default batch. */
const maxRows = 16_384;

/** The rows of a batch for one table. */
export interface TableInsert {
  /** An index of {@link tableLayouts}. */
  readonly table: number;
  /** Blocks of the format Native, packed. */
  readonly body: Uint8Array;
  /** The columns in the blocks. */
  readonly columns: readonly string[];
  /** True where a column of the table has another type than the one that is sent. */
  readonly isConverted: boolean;
  /** The number of records whose line was truncated. */
  readonly cut: number;
  /** The positions of the records in the batch, ascending. */
  readonly indexes: readonly number[];
  /** The deduplication token, always the same for the same records of the same batch. The server recognises rows that it has by it. */
  readonly token: string;
}

/** Returns a copy of blocks, packed or not, because their memory is reused. */
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

  /** Discards the rest of a batch whose reading failed. */
  begin(): void {
    this.#reader?.clear();
    this.#blocks.clear();
    this.#columns.clear();
    this.#cut = 0;
  }

  /**
   * Reads whole lines.
   *
   * @param isWanted checks the rows that were read; if it returns false, reading stops.
   * @returns whether all lines were read.
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

  /** Writes the rows that were read if they are wanted. @returns whether they were. */
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

  /** Returns the content of an insert of the lines. */
  finish(pack: Pack): Pick<TableInsert, "body" | "columns" | "isConverted" | "cut"> {
    this.flush();
    const columns = [...this.#columns];
    return { body: pack(this.#blocks.view()), columns, isConverted: this.#isConverted, cut: this.#cut };
  }
}

/** Turns the lines of a batch into inserts: one for each table that has records in the batch. */
export class TableBlocks {
  readonly #encoders: readonly TableEncoder[];
  readonly #pack: Pack;
  /** True if all records of the previous batch were flows. */
  #wereFlows = true;

  /** @param tables the columns sent to each of {@link tableLayouts}. */
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

  /** Reads the batch as flows. @returns false if some are not. Their columns show that, which is quicker than looking at each line. */
  #readFlows({ chunks }: Batch): boolean {
    const encoder = this.#encoders[tableOfType.flow];
    encoder?.begin();
    return encoder !== undefined && chunks.every((chunk) => encoder.add(chunk, areFlows)) && encoder.flush(areFlows);
  }

  /** Reads the lines of each table. @returns their indexes in the batch, by table. */
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

/** Returns the tables for the records of a batch, as indexes of {@link tableLayouts}. */
export function tablesOf(batch: Batch): ReadonlySet<number> {
  const tables = new Set<number>();
  forEachLine(batch, (lines, from, to) => tables.add(tableOfType[recordTypeOf(lines, from, to)]));
  return tables;
}

/** Calls back for each run of consecutive lines for one table, with the index of the first in the batch and their number. */
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
