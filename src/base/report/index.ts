export { systemClock, type Clock } from "./clock.ts";
export { startComponents, stopComponents, type Component } from "./component.ts";
export { describeError, isExpected } from "./component.ts";
export { createHealth, type Check, type Health } from "./health.ts";
export { listKernelSockets, readKernelSockets, readKernelTable } from "./kernel-socket.ts";
export type { KernelPort, KernelSocket } from "./kernel-socket.ts";
export { listenFault } from "./listen-fault.ts";
export { createLog, limitLog, logFormats, logLevels, silentLog } from "./component.ts";
export type { Log, LogFields, LogFormat, LogLevel, LogOptions } from "./component.ts";
export {
  createMetrics,
  type Counter,
  type Gauge,
  type Histogram,
  type LabelNames,
  type Labels,
  type Metrics,
  type Reading,
} from "./metrics.ts";
export type { FamilyReading, MetricFamily } from "./metric-family.ts";
export { createProgress, silentProgress, type Progress, type Task, type TaskView } from "./progress.ts";
export { createLineBudget } from "./line-budget.ts";
