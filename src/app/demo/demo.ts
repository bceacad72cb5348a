import { startComponents, stopComponents } from "../../report/index.ts";
import type { Clock, Component, Log } from "../../report/index.ts";
import type { Collector } from "../collector.ts";
import { curlLine } from "../quickstart.ts";
import { createDemoDevices, deviceDefinitions } from "./demo-devices.ts";
import { createDemoExporter } from "./demo-exporter.ts";
import { createDemoStory } from "./demo-story.ts";
import { createInterfaceCounters } from "./interface-counters.ts";
import { createRandom } from "./random.ts";
import type { RecentRecords } from "./recent-records.ts";
import { interfaceTable, recordTable } from "./record-table.ts";

/** An address of the sample metadata that the demonstration's flows name often. */
const featured = "10.10.20.5";
const rowsOfEach = 2;
const firstTableMs = 1000;
const seed = 1;
const sendMs = 200;

export interface DemoOptions {
  readonly collector: Collector;
  /** The sink among the collector's that keeps what is shown. */
  readonly recent: RecentRecords;
  /** Scheme, host and port of the API once the collector runs. */
  readonly apiBase: () => string;
  /** Puts down the definitions of the devices, before the collector starts. */
  readonly defineDevices: (text: string) => void;
  /** Writes to the terminal. */
  readonly out: (text: string) => void;
  /** How often records are shown. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A collector, exporters that send to it and SNMP agents that it polls. Shows the newest records as a table again and again. */
export function createDemo(options: DemoOptions): Component {
  const { collector, recent, apiBase, defineDevices, out, intervalMs, clock, log } = options;
  let running: Component[] = [];
  let timer: NodeJS.Timeout | undefined;

  const show = (): void => {
    const records = recent.latest(rowsOfEach, featured);
    out(records.length === 0 ? "\nno records yet\n" : `\n${recordTable(records)}`);
    const interfaces = recent.interfaces();
    if (interfaces.length > 0) out(`\nInterfaces, polled by SNMP:\n${interfaceTable(interfaces)}`);
    timer = setTimeout(show, intervalMs);
  };

  return {
    name: "demo",
    async start() {
      const counters = createInterfaceCounters();
      const agents = createDemoDevices(clock, counters);
      await startComponents(agents, log);
      running = [...agents];
      let port = 0;
      try {
        defineDevices(deviceDefinitions(agents));
        await startComponents([collector], log);
        running = [...agents, collector];
        port = collector.flowPorts()[0] ?? 0;
        const random = createRandom(seed);
        const story = createDemoStory(random, clock.now());
        const exporter = createDemoExporter({
          port,
          random,
          clock,
          intervalMs: sendMs,
          conversations: 2,
          story,
          counters,
        });
        await startComponents([exporter], log);
        running = [...agents, collector, exporter];
      } catch (error) {
        await stopComponents(running, log);
        throw error;
      }
      out(introduction(apiBase(), port));
      timer = setTimeout(show, firstTableMs);
    },
    async stop() {
      clearTimeout(timer);
      await stopComponents(running, log);
    },
  };
}

function introduction(apiBase: string, port: number): string {
  const rename = { udm: { key: featured, name: "web-shop" }, update_mask: "name" };
  return `${apiBase}/

Open that in a browser. Three exporters (NetFlow v5, NetFlow v9, IPFIX) send
flows of a small company to UDP port ${port}; two of them are polled by SNMP.
Names come from metadata. Below are the newest flows, by name.

Three things are wrong in this network. Can you find them?
  - a host scans the servers of the tenants
  - a backup fills a link
  - an exporter loses datagrams

${featured} is called web-1. Give it another name from a second terminal and see
it in the next table:

  ${curlLine(apiBase, "UpdateUdm", rename)}

Ctrl-C ends it; nothing is kept.
`;
}
