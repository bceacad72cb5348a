import type { BatchColumn, ColumnBatch } from "../../record/index.ts";
import { ColumnPages } from "./column-pages.ts";
import { MetadataWriter, type FileColumn, type WrittenColumn } from "./file-metadata.ts";

/** A compression of pages; `codec` is its number in Parquet. */
export interface PageCompression {
  readonly codec: number;
  compress(page: Uint8Array): Uint8Array;
}

/** A column without its place in the file. */
type EncodedColumn = Omit<WrittenColumn, "offset" | "bytes">;

const uncompressed = 0;
/** The length below which pages are not compressed: they would grow, such as those of a column with one value. */
const shortBytes = 64;
const magic = Buffer.from("PAR1");

/**
 * Writes Parquet files with one row group. Columns of the batch keep their dictionaries: a text is examined once for each
 * column, not for each row. It keeps its memory from file to file.
 */
export class ParquetEncoder {
  readonly #compression: PageCompression;
  readonly #metadata = new MetadataWriter();
  readonly #pages = new ColumnPages();

  constructor(compression: PageCompression) {
    this.#compression = compression;
  }

  /**
   * Encodes some rows of a batch.
   *
   * @param columns each with its values; undefined: it has none.
   * @param rows of the batch, in the order of the file.
   * @param sortedBy the index of the column by which rows are sorted, ascending; undefined: there is none.
   */
  encode(
    columns: readonly (readonly [FileColumn, BatchColumn | undefined])[],
    batch: Pick<ColumnBatch, "rows" | "texts">,
    rows: Uint32Array,
    sortedBy: number | undefined,
  ): readonly Uint8Array[] {
    this.#pages.begin(batch, rows);
    const chunks: Uint8Array[] = [magic];
    let offset = magic.length;
    const add = (chunk: Uint8Array): void => {
      chunks.push(chunk);
      offset += chunk.length;
    };
    /** Encoded columns without values, of which most files have hundreds. All lists share one, and all others another. */
    const empty = new Map<boolean, { readonly result: EncodedColumn; readonly own: readonly Uint8Array[] }>();
    const written = columns.map(([column, values]): WrittenColumn => {
      const from = offset;
      const hasValues = values !== undefined && values.count > 0;
      const known = hasValues ? undefined : empty.get(column.isArray);
      if (known !== undefined) {
        for (const chunk of known.own) add(chunk);
        return { ...known.result, column, offset: from, bytes: offset - from };
      }
      const first = chunks.length;
      const result = this.#column(column, values, add);
      if (!hasValues) empty.set(column.isArray, { result, own: chunks.slice(first) });
      return { ...result, offset: from, bytes: offset - from };
    });
    const footer = this.#metadata.footer(written, rows.length, sortedBy);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    return [...chunks, footer, length, magic];
  }

  #column(column: FileColumn, source: BatchColumn | undefined, emit: (chunk: Uint8Array) => void): EncodedColumn {
    const { items, values, nulls, ...content } = this.#pages.write(column, source);
    const { dictionary, page } = this.#pages;
    const isShort = items === 0 || dictionary.length + page.length < shortBytes;
    const codec = isShort ? uncompressed : this.#compression.codec;
    let rawBytes = 0;
    const emitPage = (raw: Uint8Array, headOf: (length: number) => Buffer): number => {
      const body = codec === uncompressed ? Buffer.from(raw) : this.#compression.compress(raw);
      const head = headOf(body.length);
      emit(head);
      emit(body);
      rawBytes += head.length + raw.length;
      return head.length + body.length;
    };
    const dictionaryBytes =
      content.entries === 0
        ? 0
        : emitPage(dictionary, (length) => this.#metadata.dictionaryHeader(content.entries, dictionary.length, length));
    emitPage(page, (length) => this.#metadata.dataHeader(values, content.encoding, page.length, length));
    return { column, values, nulls, codec, dictionaryBytes, rawBytes, content };
  }
}
