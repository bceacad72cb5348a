export { runProgram } from "./cli/program.ts";
export type { SignalSource, Terminal } from "./cli/terminal.ts";
export { createCollector, type Collector, type CollectorOptions } from "./collector.ts";
export { createDemoExporter, type DemoExporterOptions } from "./demo/demo-exporter.ts";
export { createRandom, type Random } from "./demo/random.ts";
export { runComponent, type RunOptions } from "./run-component.ts";
export * from "./settings/index.ts";
export { startUdmFileThread } from "./start-udm-file-thread.ts";
export { parseSettingsFile } from "./settings/settings-file.ts";
