export type { DomainView, ExporterView, TemplateView } from "./exporter/exporter-view.ts";
export { defaultLimits, type Limits } from "./exporter/limits.ts";
export { createFlowListener, type FlowListener, type FlowListenerOptions } from "./flow-listener.ts";
export { createFlowPipeline, tidyEveryMs, type FlowPipeline, type FlowPipelineOptions } from "./flow-pipeline.ts";
export { createFlowReceiver, type FlowReceiver, type FlowReceiverOptions } from "./flow-receiver.ts";
export { FlowListenError } from "./net/flow-listen-error.ts";
export { createRing, type RingHandle } from "./ring/ring-layout.ts";
export { createRingReader, type RingReader } from "./ring/ring-reader.ts";
export { createRingWriter } from "./ring/ring-writer.ts";
