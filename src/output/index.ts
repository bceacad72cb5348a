export { agentFor } from "./delivery/http-client.ts";
export { createBoundedQueue, type Batch, type BoundedQueue } from "./queued-sink.ts";
export { fanOut } from "./filtered-sink.ts";
export { filteredSink } from "./filtered-sink.ts";
export { createFileSink, type FileSink, type FileSinkOptions } from "./file/file-sink.ts";
export { OutputError } from "./file/file-sink.ts";
export type { OutputFile, OutputFileState, OutputIo } from "./file/file-sink.ts";
export { nodeOutputIo } from "./file/file-sink.ts";
export { createLineInbox, type LineInbox } from "./line-inbox.ts";
export { createLineMemory, createNoteReader, type LineMemory } from "./line-notes.ts";
export { createLineOutbox, type LineOutbox } from "./line-outbox.ts";
export { limitRate } from "./stdout/stdout-sink.ts";
export { prettySink } from "./stdout/stdout-sink.ts";
export { anonymizeTexts, cutAddresses } from "./shape/anonymize-lines.ts";
export { createAnonymizeLines, type AnonymizedCounts } from "./shape/anonymize-lines.ts";
export { createCryptoPan, cryptoPanKeyBytes } from "./shape/anonymize-lines.ts";
export { rolledUpFields } from "./shape/rollup.ts";
export { rollupSink, type RollupReport } from "./shape/rollup-sink.ts";
export { createTimestampSource } from "./delivery/delivery.ts";
export { createMonitorSink } from "./monitor/monitor-sink.ts";
export {
  createOutputMetrics,
  dropReasons,
  type DropReason,
  type OutputMetrics,
  type OutputReport,
} from "./output-metrics.ts";
export type { OutputOptions } from "./queued-sink.ts";
export { createStdoutSink, type StdoutSinkOptions } from "./stdout/stdout-sink.ts";
export { batchKey, forEachLine, positionOf, type Batch as RecordBatch } from "./delivery/batch.ts";
export { createDelivery, type Delivery, type DeliveryState } from "./delivery/delivery.ts";
export type { DeliveryConfig } from "./delivery/delivery.ts";
export { createHttpClient } from "./delivery/http-client.ts";
export { DeliveryError } from "./delivery/delivery-error.ts";
export type { Outcome, OutputAdapter } from "./delivery/output-adapter.ts";
export type { Compression } from "./delivery/compress.ts";
export type { RecordType, SpoolMode } from "./delivery/settings.ts";
export { cutTime, type FieldEdit } from "./delivery/line-editor.ts";
export { createThinning, type Thinning, type ThinningOptions } from "./delivery/thinning.ts";
export { createLineFilter } from "./delivery/delivery.ts";
export { createLineRenamer } from "./delivery/line-editor.ts";
export { fieldNames } from "./delivery/field-names.ts";
export { createLineBorrower } from "./delivery/line-borrower.ts";
export { createLineLender, type LentLines } from "./delivery/line-borrower.ts";
export { allAccepted } from "./delivery/output-adapter.ts";
export { createTimedCalls } from "./delivery/sender.ts";
export { clickHouseColumns } from "./clickhouse/columns.ts";
export type { KafkaClient, ProduceAnswer, ProducerId, ProduceRequest } from "./kafka/kafka-client.ts";
export { createKafkaOutput } from "./kafka/kafka-output.ts";
export { cloudIdUrl } from "./elasticsearch/settings.ts";
export { createAdapter } from "./create-adapter.ts";
export type { TlsConfig } from "./delivery/tls-options.ts";
export { outputKinds, type SettingsOf, type StoreWord } from "./kinds.ts";
export type { AdapterContext } from "./output-kind.ts";
export { createClickHouseClient } from "./clickhouse/clickhouse-output.ts";
export { createRecordTap, type RecordTap, type TapCounts, type TapListener } from "./record-tap.ts";
