import type { Component, Health } from "../report/index.ts";
import type { ExporterView } from "./exporters/exporter-view.ts";
import type { ExporterTraffic } from "./exporters/interface-traffic.ts";
import { createFlowPipeline } from "./create-flow-pipeline.ts";
import { tidyEveryMs, type FlowPipelineOptions } from "./flow-pipeline.ts";
import { createFlowReceiver, type FlowReceiver, type FlowReceiverOptions } from "./intake/flow-receiver.ts";
import { createStateKeeper } from "./exporters/state/state-keeper.ts";
import type { SharedExporters } from "./exporters/state/shared-exporters.ts";
import type { StateStore } from "./exporters/state/state-store.ts";

export interface FlowListenerOptions extends FlowPipelineOptions, Omit<FlowReceiverOptions, "take" | "offer"> {
  readonly health: Health;
  /** Where what exporters say once outlives a restart; left out: it does not. */
  readonly state?: StateStore;
  /** Where the collectors of a fleet share what exporters say; left out: this one is alone. */
  readonly shared?: SharedExporters | undefined;
}

export interface FlowListener extends Component, Pick<FlowReceiver, "ports" | "streamPorts" | "setCredentials"> {
  /** All exporters heard of, the one silent for longest first. */
  exporters(): Promise<readonly ExporterView[]>;
  /** What passed the interfaces of those that are measured, by whole minutes. */
  traffic(): Promise<readonly ExporterTraffic[]>;
}

const checkName = "flow";

/**
 * Receives flows and writes a line for every one to the sink, all in the calling thread. Its start fails with a
 * FlowListenError when a port cannot be opened.
 */
export function createFlowListener(options: FlowListenerOptions): FlowListener {
  const { health, state, shared, log } = options;
  const pipeline = createFlowPipeline(options);
  const receiver = createFlowReceiver({
    ...options,
    take: (bytes, address, port) => pipeline.process(bytes, address, port),
    offer(bytes, address, port) {
      pipeline.process(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), address, port);
      return true;
    },
  });
  const keeper =
    state === undefined && shared === undefined
      ? undefined
      : createStateKeeper({
          store: state,
          shared,
          sources: [pipeline],
          responsible: () => 0,
          failed: (error) => log.error({ error }, "the state of exporters could not be restored"),
        });
  let timer: NodeJS.Timeout | undefined;

  health.set({ name: checkName, ready: false, detail: "not listening yet" });

  return {
    name: "flow listener",
    async start() {
      await keeper?.start();
      await receiver.start();
      timer = setInterval(() => pipeline.tidy(), tidyEveryMs);
      timer.unref();
      health.set({ name: checkName, ready: true });
    },
    async stop() {
      health.set({ name: checkName, ready: false, detail: "stopped" });
      clearInterval(timer);
      await receiver.stop();
      await keeper?.stop();
    },
    ports: () => receiver.ports(),
    streamPorts: () => receiver.streamPorts(),
    setCredentials: (credentials) => receiver.setCredentials(credentials),
    exporters: async () => pipeline.exporters(),
    traffic: async () => pipeline.traffic(),
  };
}
