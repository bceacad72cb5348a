export { agentFor, HttpClient, httpFailure, type HttpAnswer } from "./delivery/http-client.ts";
export { BoundedQueue, type OutputOptions } from "./local/queued-sink.ts";
export { FileSink, type FileSinkOptions, OutputError } from "./local/file-sink.ts";
export { limitRate, prettySink, StdoutSink, type StdoutSinkOptions } from "./local/stdout-sink.ts";
export { MonitorSink } from "./local/monitor-sink.ts";
export { createLineMemory, LineInbox, type LineMemory, LineOutbox, NoteReader } from "./line-outbox.ts";
export { LineLessee, LineLessor, type LeasedLines } from "./line-lease.ts";
export {
  anonymizeTexts,
  cutAddresses,
  createAnonymizeLines,
  type AnonymizedCounts,
  createCryptoPan,
  cryptoPanKeyBytes,
} from "./shape/anonymize-lines.ts";
export { rolledUpFields, RollupSink } from "./shape/rollup.ts";
export { createLineFilter, createTimestampSource, filteredSink } from "./delivery/line-filter.ts";
export { Thinning, type ThinningOptions } from "./delivery/line-filter.ts";
export { Delivery, type DeliveryState } from "./delivery/delivery.ts";
export { dropReasons, type DropReason, OutputMetrics, type OutputReport, type RollupReport } from "./output-metrics.ts";
export { batchKey, forEachLine, positionOf, type Batch as RecordBatch } from "./delivery/batch.ts";
export { allAccepted, DeliveryError, type Outcome, type OutputAdapter } from "./delivery/output-adapter.ts";
export type { Compression } from "./http/server-settings.ts";
export type { CommonSettings, DeliveryContext, RecordType, SpoolMode } from "./delivery/settings.ts";
export { cutTime, type FieldEdit, createLineRenamer } from "./delivery/line-editor.ts";
export { fieldNames } from "./delivery/line-fields.ts";
export { TimedCalls } from "./delivery/sender.ts";
export { clickHouseColumns } from "./clickhouse/table-layout.ts";
export type { KafkaClient, ProduceAnswer, ProducerId, ProduceRequest } from "./kafka/kafka-client.ts";
export { KafkaOutput } from "./kafka/kafka-output.ts";
export { FlowEncoder, type MessageEncoder } from "./kafka/flow-message.ts";
export { readLines } from "./kafka/record-batch.ts";
export { goflowFields, GoflowEncoder } from "./kafka/goflow-message.ts";
export { BatchMessages } from "./kafka/batch-messages.ts";
export { MessageWriter } from "./kafka/message-writer.ts";
export { LakeFolder } from "./parquet/lake-folder.ts";
export { ParquetOutput } from "./parquet/parquet-output.ts";
export { cloudIdUrl } from "./search/settings.ts";
export { createAdapter } from "./create-adapter.ts";
export type { TlsConfig } from "./delivery/tls-options.ts";
export { outputKinds, type SettingsOf, type StoreWord } from "./kinds.ts";
export type { AdapterContext } from "./output-kind.ts";
export { createClickHouseClient } from "./clickhouse/clickhouse-output.ts";
export { fanOut, RecordTap, type TapCounts, type TapListener } from "./record-tap.ts";
