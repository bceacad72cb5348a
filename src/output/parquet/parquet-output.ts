import { createHash } from "node:crypto";
import { hostname } from "node:os";
import * as zlib from "node:zlib";
import { tableFields, type TableLayout } from "../clickhouse/table-layout.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { areFlows, recordTypeOf } from "../delivery/line-fields.ts";
import { allAccepted, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import type { RecordType } from "../delivery/settings.ts";
import { zstdFault } from "../http/server-settings.ts";
import type { AdapterContext } from "../output-kind.ts";
import { LakeBucket } from "./lake-bucket.ts";
import { LakeFolder } from "./lake-folder.ts";
import { LakeTable, type HourFile } from "./lake-table.ts";
import type { Lake } from "./lake.ts";
import { ParquetEncoder, type PageCompression } from "./parquet-file.ts";
import { bucketOf, type ParquetSettings } from "./settings.ts";

const hourMs = 3_600_000;
/** The time after the end of an hour by which its records have come, except late ones. */
const graceMs = 600_000;

type TableName = TableLayout["name"];

/** Names of tables by the types of records. */
const tableOfType: Readonly<Record<RecordType, TableName>> = {
  flow: "flow",
  flow_option: "flow_option",
  telemetry: "telemetry",
  as_path_hop: "flow",
};

/**
 * Writes each batch as one file for each hour and type of records in it. The names of files depend only on the identity of the batch, which
 * is unique across collectors. A batch that is sent again, even by a later run in another container, replaces its files.
 */
export class ParquetOutput implements OutputAdapter {
  readonly isKnownWhole = true;
  readonly #lake: Lake;
  readonly #tables: Readonly<Record<TableName, LakeTable>>;
  /** True if all records of the previous batch were flows. */
  #wereFlows = true;
  readonly #isZstdMissing: boolean;
  readonly #collector = hostname().replaceAll(/[^\w.-]/g, "_");
  /** Folders of hours that still get files, with the end of each hour, milliseconds since the epoch. */
  readonly #hours = new Map<string, number>();

  constructor(settings: ParquetSettings, { clock, nameOf }: AdapterContext, lake?: Lake) {
    const bucket = bucketOf(settings.LOCATION);
    this.#lake =
      lake ??
      (bucket === undefined ? new LakeFolder(settings.LOCATION, clock) : new LakeBucket(bucket, settings, clock));
    this.#isZstdMissing = zstdFault(settings.COMPRESSION) !== undefined;
    const encoder = new ParquetEncoder(compressionOf(this.#isZstdMissing ? "gzip" : settings.COMPRESSION));
    const tableOf = (name: TableName): LakeTable => new LakeTable(tableFields[name], nameOf, encoder);
    this.#tables = { flow: tableOf("flow"), flow_option: tableOf("flow_option"), telemetry: tableOf("telemetry") };
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const warnings = await this.#lake.open(signal);
    return this.#isZstdMissing
      ? [...warnings, `files are compressed by gzip: Node ${process.version} has no zstd, 22.15 has it`]
      : warnings;
  }

  async send(batch: Batch, signal: AbortSignal, oldestOther = Number.POSITIVE_INFINITY): Promise<Outcome> {
    // Make all files before the first wait: other batches use the same memory.
    const files = this.#filesOf(batch);
    const key = `${batchKey(batch.id)}${partOf(batch)}`;
    let cut = 0;
    for (const [name, made] of files) {
      for (const { part, hour, chunks, cut: ofFile } of made) {
        cut += ofFile;
        const folder = folderOf(name, hour);
        const suffix = part === 0 ? "" : `-${part}`;
        await this.#lake.put(`${folder}/${key}${suffix}.parquet`, chunks, signal);
        this.#hours.set(folder, (hour + 1) * hourMs);
      }
    }
    // Records that arrive later belong to a later hour, except late ones.
    const until = Math.min(batch.oldestAt, oldestOther) - graceMs;
    for (const [folder, end] of this.#hours) {
      if (end > until) continue;
      await this.#lake.put(`${folder}/_SUCCESS.${this.#collector}`, [], signal);
      this.#hours.delete(folder);
    }
    return cut === 0 ? allAccepted : { ...allAccepted, cut };
  }

  async close(): Promise<void> {
    this.#lake.close();
  }

  /** Returns the files of a batch by table. Columns show whether all records are flows, which is quicker than looking at each line. */
  #filesOf(batch: Batch): readonly (readonly [TableName, readonly HourFile[]])[] {
    const { chunks, oldestAt } = batch;
    const flows = this.#wereFlows ? this.#tables.flow.files(chunks, oldestAt, areFlows) : undefined;
    if (flows !== undefined) return [["flow", flows]];
    const lines = linesByTable(batch);
    this.#wereFlows = lines.size === 1 && lines.has("flow");
    return [...lines].map(([name, own]) => [name, this.#tables[name].files(own, oldestAt, () => true) ?? []]);
  }
}

function folderOf(table: string, hour: number): string {
  const time = new Date(hour * hourMs).toISOString();
  return `${table}/date=${time.slice(0, 10)}/hour=${time.slice(11, 13)}`;
}

/** Returns a name for some records of a batch; empty for all of them. */
function partOf(batch: Batch): string {
  if (batch.positions === undefined) return "";
  const positions = Uint32Array.from({ length: batch.count }, (_, index) => positionOf(batch, index));
  return `-${createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16)}`;
}

/** Returns ranges of consecutive lines, by the tables of their records. */
function linesByTable(batch: Batch): ReadonlyMap<TableName, readonly Uint8Array[]> {
  const found = new Map<TableName, Uint8Array[]>();
  let begun: { readonly name: TableName; readonly chunk: Buffer; readonly from: number; to: number } | undefined;
  const end = (): void => {
    if (begun === undefined) return;
    const { name, chunk, from, to } = begun;
    const lines = found.get(name) ?? [];
    found.set(name, lines);
    lines.push(chunk.subarray(from, to));
  };
  forEachLine(batch, (chunk, from, to) => {
    const name = tableOfType[recordTypeOf(chunk, from, to)];
    const next = Math.min(to + 1, chunk.length);
    if (begun?.chunk === chunk && begun.name === name) begun.to = next;
    else {
      end();
      begun = { name, chunk, from, to: next };
    }
  });
  end();
  return found;
}

export function compressionOf(compression: ParquetSettings["COMPRESSION"]): PageCompression {
  const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: (bytes: Uint8Array) => Buffer };
  if (compression === "zstd" && zstdCompressSync !== undefined) return { codec: 6, compress: zstdCompressSync };
  return { codec: 2, compress: (page) => zlib.gzipSync(page, { level: isDense(page) ? 0 : 4 }) };
}

/** Pieces of a page that are compressed as a test, and their size. */
const pieces = 4;
const pieceBytes = 1024;

/** Reports whether compression would not shorten a page. Many pages are bit-packed numbers, which would take most of the time. */
function isDense(page: Uint8Array): boolean {
  if (page.length < 4 * pieces * pieceBytes) return false;
  const sample = Buffer.allocUnsafe(pieces * pieceBytes);
  const step = Math.floor((page.length - pieceBytes) / (pieces - 1));
  for (let i = 0; i < pieces; i++) sample.set(page.subarray(i * step, i * step + pieceBytes), i * pieceBytes);
  return zlib.deflateRawSync(sample, { level: 1 }).length > 0.95 * sample.length;
}
