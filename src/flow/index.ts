export type { DomainView, ExporterView, TemplateView } from "./exporter/exporter-view.ts";
export { defaultLimits, type Limits } from "./exporter/limits.ts";
export { createFlowListener, type FlowListener, type FlowListenerOptions } from "./flow-listener.ts";
export { createFlowPipeline, type FlowPipeline, type FlowPipelineOptions } from "./flow-pipeline.ts";
export { FlowListenError } from "./net/flow-listen-error.ts";
