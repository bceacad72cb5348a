// A collector with a flow input on loopback and its records in memory, for tests.
import { createSocket } from "node:dgram";
import type { TestContext } from "node:test";
import { createCollector, readSettings, type Collector } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp } from "./clean-up.ts";
import { until } from "./until.ts";

export interface FlowCollector {
  readonly collector: Collector;
  /** Sends a datagram and returns the next record. */
  readonly send: (datagram: Uint8Array) => Promise<Readonly<Record<string, unknown>>>;
}

/** Ends with the test. The main thread decodes, unless the settings say otherwise. */
export async function startFlowCollector(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
): Promise<FlowCollector> {
  const given: Record<string, string> = {
    SVC_API_PORT: "0",
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_POOL_SIZE: "main",
    ...settings,
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "test" }));
  const records: Readonly<Record<string, unknown>>[] = [];
  const sink = {
    write(lines: Uint8Array): void {
      for (const line of Buffer.from(lines).toString().split("\n")) if (line !== "") records.push(JSON.parse(line));
    },
  };
  const collector = createCollector({
    settings: readSettings([layer], () => "").settings,
    log: silentLog,
    clock: systemClock,
    version: "0.0.0",
    sinks: [sink],
  });
  await collector.start();
  const socket = createSocket("udp4");
  cleanUp(t, async () => {
    socket.close();
    await collector.stop();
  });
  return {
    collector,
    async send(datagram) {
      const before = records.length;
      socket.send(datagram, collector.flowPorts()[0], "127.0.0.1");
      return until("the record", () => records[before]);
    },
  };
}
