export { agentFor, createHttpClient } from "./delivery/http-client.ts";
export { createBoundedQueue, type Batch, type BoundedQueue, type OutputOptions } from "./local/queued-sink.ts";
export { fanOut, filteredSink } from "./record-tap.ts";
export {
  createFileSink,
  type FileSink,
  type FileSinkOptions,
  OutputError,
  type OutputFile,
  type OutputFileState,
  type OutputIo,
  nodeOutputIo,
} from "./local/file-sink.ts";
export { createLineInbox, type LineInbox } from "./line-outbox.ts";
export { createLineMemory, createNoteReader, type LineMemory } from "./line-outbox.ts";
export { createLineOutbox, type LineOutbox } from "./line-outbox.ts";
export { limitRate, prettySink, createStdoutSink, type StdoutSinkOptions } from "./local/stdout-sink.ts";
export {
  anonymizeTexts,
  cutAddresses,
  createAnonymizeLines,
  type AnonymizedCounts,
  createCryptoPan,
  cryptoPanKeyBytes,
} from "./shape/anonymize-lines.ts";
export { rolledUpFields } from "./shape/rollup.ts";
export { rollupSink, type RollupReport } from "./shape/rollup.ts";
export {
  createTimestampSource,
  createDelivery,
  type Delivery,
  type DeliveryState,
  type DeliveryConfig,
  createLineFilter,
} from "./delivery/delivery.ts";
export { createMonitorSink } from "./local/monitor-sink.ts";
export {
  createOutputMetrics,
  dropReasons,
  type DropReason,
  type OutputMetrics,
  type OutputReport,
} from "./output-metrics.ts";
export { batchKey, forEachLine, positionOf, type Batch as RecordBatch } from "./delivery/batch.ts";
export { DeliveryError } from "./delivery/output-adapter.ts";
export { type Outcome, type OutputAdapter, allAccepted } from "./delivery/output-adapter.ts";
export type { Compression } from "./http/server-settings.ts";
export type { RecordType, SpoolMode } from "./delivery/settings.ts";
export { cutTime, type FieldEdit, createLineRenamer } from "./delivery/line-editor.ts";
export { createThinning, type Thinning, type ThinningOptions } from "./shape/thinning.ts";
export { fieldNames } from "./delivery/output-adapter.ts";
export { createLineBorrower, createLineLender, type LentLines } from "./line-lease.ts";
export { createTimedCalls } from "./delivery/sender.ts";
export { clickHouseColumns } from "./clickhouse/table-rows.ts";
export type { KafkaClient, ProduceAnswer, ProducerId, ProduceRequest } from "./kafka/kafka-client.ts";
export { createKafkaOutput } from "./kafka/kafka-output.ts";
export { cloudIdUrl } from "./elasticsearch/settings.ts";
export { createAdapter } from "./create-adapter.ts";
export type { TlsConfig } from "./delivery/tls-options.ts";
export { outputKinds, type SettingsOf, type StoreWord } from "./kinds.ts";
export type { AdapterContext } from "./output-kind.ts";
export { createClickHouseClient } from "./clickhouse/clickhouse-output.ts";
export { createRecordTap, type RecordTap, type TapCounts, type TapListener } from "./record-tap.ts";
