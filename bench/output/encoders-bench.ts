// What a store's protocol adds to a record in the thread of its output: CPU time of its encoder, next to copying the line.
// A batch by each encoder in turn, many times; the first quartile counts, for what disturbs a slice makes it longer.
// Lines of NetFlow v9 without metadata. NDJSON by HTTP and VictoriaLogs have no encoder: lines are sent as they are.
// Beside ClickHouse's blocks: what clickhouse-client does with a file of the same lines, by the engine of ClickHouse.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { compressionsAlgorithms, crc32c } from "@platformatic/kafka";
import { forEachLine, joinChunks, type Batch } from "../../src/output/delivery/batch.ts";
import { areFlows, createKeyFinder } from "../../src/output/delivery/line-fields.ts";
import { packOf } from "../../src/output/clickhouse/clickhouse-output.ts";
import { sentColumn } from "../../src/output/clickhouse/sent-column.ts";
import { TableBlocks } from "../../src/output/clickhouse/table-blocks.ts";
import { createLayouts } from "../../src/output/clickhouse/table-layout.ts";
import { BatchMessages } from "../../src/output/kafka/batch-messages.ts";
import { FlowEncoder } from "../../src/output/kafka/flow-message.ts";
import { GoflowEncoder } from "../../src/output/kafka/goflow-message.ts";
import { MessageWriter } from "../../src/output/kafka/message-writer.ts";
import { readLines } from "../../src/output/kafka/record-batch.ts";
import { planChunks } from "../../src/output/kafka/kafka-output.ts";
import { createRecordBatchEncoder, type RecordBatchEncoder } from "../../src/output/kafka/record-batch.ts";
import { encodeStreams } from "../../src/output/loki/loki-output.ts";
import { encodeLogs } from "../../src/output/otlp/otlp-output.ts";
import { LakeTable } from "../../src/output/parquet/lake-table.ts";
import { ParquetEncoder, type PageCompression } from "../../src/output/parquet/parquet-file.ts";
import { compressionOf } from "../../src/output/parquet/parquet-output.ts";
import { bulkBody } from "../../src/output/search/search-output.ts";
import { createIndexOf } from "../../src/output/search/index-template.ts";
import { createEventReader, encodeEvents } from "../../src/output/splunk/splunk-output.ts";
import { createHeaderOf, frameMessages } from "../../src/output/syslog/syslog-output.ts";
import { type Column, columnOf, LineColumns, recordFields } from "../../src/record/index.ts";
import { startPartner } from "../../test/support/partner.ts";
import { reportRow } from "../support/bench-report.ts";
import { groupCpuTime } from "../support/cpu-time.ts";
import { settingsFor } from "../../test/output/adapter-fixture.ts";
import { decodeLines } from "./delivery-lines.ts";

const rounds = 9;
/** What a record may take in the thread of its output. */
const goals: Readonly<Record<string, string>> = {
  "ClickHouse: Native blocks, lz4": "≤ 500",
  "Kafka: messages of Protocol Buffers, lz4": "≤ 1430",
  "Parquet: files, gzip": "≤ 2000",
};
const { lines } = decodeLines();
/** Pieces of 1 MB, as many as fit into a batch by default. */
const piecesPerBatch = 7;
const batches = Array.from({ length: 4 }, (_, number): Batch => {
  const pieces = lines.slice(number * piecesPerBatch, (number + 1) * piecesPerBatch);
  return {
    id: { instance: "benchbenchbe", number },
    chunks: pieces.map(({ bytes }) => bytes),
    count: pieces.reduce((sum, { count }) => sum + count, 0),
    byteLength: pieces.reduce((sum, { bytes }) => sum + bytes.length, 0),
    oldestAt: 0,
  };
});
const records = batches.reduce((sum, { count }) => sum + count, 0);
const labels = ["flow.export.ip.addr", "system.ip.addr"];

const indexOf = createIndexOf(settingsFor("OPENSEARCH"));
const plainEvents = createEventReader((field) => field, false);
const cimEvents = createEventReader((field) => field, true);
const event = settingsFor("SPLUNK_HEC");
const tables = createLayouts((field) => field).map(({ columns }) =>
  columns.flatMap((column) => sentColumn(column, column.type) ?? []),
);
const blocks = new TableBlocks(tables, packOf("none"));
const lz4Blocks = new TableBlocks(tables, packOf("lz4"));
const findKey = createKeyFinder(labels);
const headerOf = createHeaderOf(settingsFor("SYSLOG", { HOSTNAME: "collector" }));
const topics = [{ name: "flow", partitions: 6 }];
const recordBatches = createRecordBatchEncoder({ compression: undefined, crc32c });
const { bitmask: bits, compressSync: compress } = compressionsAlgorithms.lz4;
const compressedBatches = createRecordBatchEncoder({ compression: { bits, compress }, crc32c });

const flowMessages = new BatchMessages(new FlowEncoder(), false);
const goflowMessages = new BatchMessages(new GoflowEncoder(), false);
const memory = new MessageWriter();

function kafka(batch: Batch, encode: RecordBatchEncoder, messages?: BatchMessages): void {
  const asLines = readLines(batch, findKey, () => 0);
  const read = messages?.make(batch, asLines, memory) ?? asLines;
  for (const { positions } of planChunks(batch, read, { topics, maxMessageBytes: 1_000_000 })) {
    encode(read, positions, { time: 0, producer: undefined, sequence: 0 });
  }
}

const allColumns = recordFields
  .map(({ name }) => columnOf(name))
  .filter((column): column is Column => column !== undefined);
const columnReader = new LineColumns(allColumns, { maxRows: 65_536, hasRest: true });

function readColumns(batch: Batch): unknown {
  columnReader.clear();
  for (const chunk of batch.chunks) columnReader.take(chunk, 0);
  return columnReader.batch();
}

function parseLines(batch: Batch): void {
  forEachLine(batch, (chunk, from, to) => JSON.parse(chunk.toString("utf8", from, to)));
}

const encoders: Readonly<Record<string, (batch: Batch) => unknown>> = {
  "copying the line": (batch) => Uint8Array.prototype.slice.call(joinChunks(batch)),
  "Elasticsearch, OpenSearch: _bulk": (batch) => bulkBody(batch, indexOf),
  "ClickHouse: Native blocks": (batch) => blocks.insertsOf(batch),
  "ClickHouse: Native blocks, lz4": (batch) => lz4Blocks.insertsOf(batch),
  "Splunk: events": (batch) => encodeEvents(batch, event, plainEvents),
  "Splunk: events with fields of the data model": (batch) => encodeEvents(batch, event, cimEvents),
  "Loki: streams": (batch) => encodeStreams(batch, labels),
  "OTLP: log records": (batch) => encodeLogs(batch, labels),
  "Kafka: record batches": (batch) => kafka(batch, recordBatches),
  "Kafka: record batches, lz4": (batch) => kafka(batch, compressedBatches),
  "Kafka: messages of Protocol Buffers": (batch) => kafka(batch, recordBatches, flowMessages),
  "Kafka: messages of Protocol Buffers, lz4": (batch) => kafka(batch, compressedBatches, flowMessages),
  "Kafka: goflow2's messages, lz4": (batch) => kafka(batch, compressedBatches, goflowMessages),
  "syslog: messages": (batch) => frameMessages(batch, headerOf),
  "columns of all fields": readColumns,
  "JSON.parse": parseLines,
};

const compressions: Readonly<Record<string, PageCompression>> = {
  gzip: compressionOf("gzip"),
  ...("zstdCompressSync" in zlib && { zstd: compressionOf("zstd") }),
};
/** As many records as make a file. */
const fileLines = lines.filter((_, i) => lines.slice(0, i + 1).reduce((sum, { count }) => sum + count, 0) <= 50_000);
const fileRecords = fileLines.reduce((sum, { count }) => sum + count, 0);
const fileBytes = fileLines.map(({ bytes }) => bytes);

const files = Object.entries(compressions).map(([name, compression]) => {
  const table = new LakeTable(recordFields, (field) => field, new ParquetEncoder(compression));
  return { name, encode: () => table.files(fileBytes, 0, areFlows) ?? [] };
});

/** One encoder, and what its slices took for each record. */
interface Figure {
  readonly what: string;
  readonly slices: readonly { readonly count: number; readonly encode: () => unknown }[];
  readonly each: number[];
}

const figures: readonly Figure[] = [
  ...Object.entries(encoders).map(([what, encode]) => ({
    what,
    slices: batches.map((batch) => ({ count: batch.count, encode: () => encode(batch) })),
    each: [],
  })),
  ...files.map(({ name, encode }) => ({
    what: `Parquet: files, ${name}`,
    slices: [{ count: fileRecords, encode }],
    each: [],
  })),
];
for (let round = 0; round <= rounds; round++) {
  for (let slice = 0; slice < batches.length; slice++) {
    // One after the other, so that what else the host does meets all of them.
    for (const { slices, each } of figures) {
      const { count, encode } = slices[slice % slices.length] as Figure["slices"][number];
      const start = process.cpuUsage();
      encode();
      const { user, system } = process.cpuUsage(start);
      if (round > 0) each.push(((user + system) * 1000) / count);
    }
  }
}

/** The quarter of the slices that were disturbed the least is up to this one. */
function firstQuartile(each: readonly number[]): number {
  return each.toSorted((a, b) => a - b)[Math.floor(each.length / 4)] ?? Number.NaN;
}

const peer = { what: "copying the line", value: firstQuartile(figures[0]?.each ?? []) };
for (const { what, each } of figures) {
  const goal = goals[what];
  reportRow({
    what,
    value: firstQuartile(each),
    unit: "ns/record",
    ...(what !== peer.what && { peer }),
    ...(goal !== undefined && { goal }),
  });
}

let wireBytes = 0;
for (const batch of batches) {
  for (const { body } of lz4Blocks.insertsOf(batch)) wireBytes += body.length;
}
reportRow({
  what: "ClickHouse: Native blocks, lz4, on the wire",
  value: wireBytes / records,
  unit: "bytes/record",
  goal: "≤ 80",
});

const lineBytes = { what: "lines", value: fileBytes.reduce((sum, { length }) => sum + length, 0) / fileRecords };
for (const { name, encode } of files) {
  const bytes = encode()
    .flatMap(({ chunks }) => chunks)
    .reduce((sum, { length }) => sum + length, 0);
  reportRow({
    what: `Parquet: size of files, ${name}`,
    value: bytes / fileRecords,
    unit: "bytes/record",
    peer: lineBytes,
    goal: "≤ 35",
  });
}

await reportClient();

/** A file of the lines, read as JSON and written as blocks of the format Native: the least CPU of some times, which is counted in hundredths of a second. */
async function reportClient(): Promise<void> {
  const ends: (() => unknown)[] = [];
  const directory = mkdtempSync(join(tmpdir(), "netgloss-bench-"));
  try {
    const path = join(directory, "lines.ndjson");
    // Its columns have other names, which a client must be told, too.
    const named = lines.map(({ bytes }) =>
      Buffer.from(bytes)
        .toString()
        .replaceAll(/"([\w.@]+)":/g, (_, name: string) => `"${name.replace("@", "").replaceAll(".", "_")}":`),
    );
    writeFileSync(path, named.join(""));
    const count = lines.reduce((sum, each) => sum + each.count, 0);
    const { url, user, password, dir } = await startPartner({ after: (end) => void ends.push(end) }, "clickhouse");
    const group = Number(readFileSync(join(String(dir), "server.pid"), "utf8"));
    const [layout] = createLayouts((field) => field);
    // As ours: columns that no record has a value in are not sent.
    const sent = new Set(blocks.insertsOf(batches[0] as Batch).flatMap(({ columns }) => columns));
    const used = (layout?.columns ?? []).filter(({ name }) => sent.has(name));
    const structure = used.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
    const settings = "input_format_skip_unknown_fields = 1, date_time_input_format = 'best_effort'";
    const query = `SELECT * FROM file('${path}', JSONEachRow, '${structure.replaceAll("'", "\\'")}') SETTINGS ${settings} FORMAT Native`;
    const times: number[] = [];
    for (let round = 0; round <= 5; round++) {
      const before = groupCpuTime(group);
      const headers = { "X-ClickHouse-User": String(user), "X-ClickHouse-Key": String(password) };
      const response = await fetch(String(url), { method: "POST", headers, body: query });
      const body = Buffer.from(await response.arrayBuffer());
      if (!response.ok) throw new Error(body.toString("utf8", 0, 500));
      if (round > 0) times.push(groupCpuTime(group) - before);
    }
    const encoder = figures.find(({ what }) => what === "ClickHouse: Native blocks");
    reportRow({
      what: "a file of lines to Native blocks, by ClickHouse's own engine",
      value: (1e9 * Math.min(...times)) / count,
      unit: "ns/record",
      peer: { what: "ClickHouse: Native blocks", value: firstQuartile(encoder?.each ?? []) },
    });
  } finally {
    for (const end of ends) await end();
    rmSync(directory, { recursive: true });
  }
}
