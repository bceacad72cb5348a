export { CaptureError, readCapture, type Frame } from "./capture/read-capture.ts";
export { DatagramReader, type CapturedDatagram, type FrameKind } from "./capture/udp-datagram.ts";

export { elementsShape, readElements, type CustomElement } from "./elements/custom-elements.ts";
export { protocolOf, type Protocol } from "./datagram.ts";
export type { DomainView, ExporterView, TemplateView } from "./exporters/exporter-view.ts";
export {
  noFlow,
  seenAt,
  FlowSketch,
  sketchWindowMs,
  trafficKey,
  trafficMinuteMs,
  type ExporterTraffic,
  type SeenAt,
  type SketchWindow,
} from "./exporters/exporter-traffic.ts";
export { defaultLimits, type Limits } from "./exporters/limits.ts";
export {
  FlowListener,
  FlowPipeline,
  tidyEveryMs,
  type FlowListenerOptions,
  type FlowPipelineOptions,
} from "./flow-listener.ts";
export { checkKernel } from "./kernel/kernel.ts";
export { FlowReceiver, type FlowReceiverOptions } from "./intake/flow-receiver.ts";
export type { StreamCredentials, StreamOptions } from "./intake/flow-receiver.ts";
export { FlowListenError } from "./intake/socket.ts";
export { createRing, RingWriter, type RingHandle, type SenderReputation } from "./intake/ring-writer.ts";
export { RingReader } from "./intake/ring-reader.ts";
export type { ExporterState, StateChange, StateReport } from "./exporters/state/exporter-state.ts";
export { readExporterState, writeExporterState } from "./exporters/state/exporter-state.ts";
export { addressOfKey, stateKey } from "./exporters/exporter-table.ts";
export {
  decodeStateFile,
  encodeStateFile,
  StatePersistence,
  StateStore,
  type StateFiles,
} from "./exporters/state/state-store.ts";
export type { FlowEndsOptions } from "./line/flow-ends.ts";
export { joinedFields, type JoinedField } from "./kernel/program-writer.ts";
export { Tee, type TeeOptions } from "./relay/tee.ts";
export {
  SharedStore,
  shiftTimes,
  type SharedAnswer,
  type SharedStateTable,
  type StateRow,
} from "./exporters/state/shared-store.ts";
