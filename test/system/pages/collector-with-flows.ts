import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { metadataSettings, startCollectorProcess, type CollectorProcess } from "../../support/collector-process.ts";
import { netflowV5Datagram } from "../../support/netflow-v5.ts";
import { sendDatagram } from "../../support/send-datagram.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

export interface CollectorWithFlows {
  readonly directory: string;
  /** `http://127.0.0.1:<port>`, the same over restarts. */
  readonly url: string;
  readonly collector: () => CollectorProcess;
  /** Ends the process; nobody answers at the port. */
  readonly end: () => Promise<void>;
  readonly start: () => Promise<void>;
}

/** A collector to which an exporter sends a few flows each 200 ms: of \`web-1\`, and of addresses without a name. */
export async function startWithFlows(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
  wantedPort?: number,
): Promise<CollectorWithFlows> {
  const directory = tempDirectory(t);
  const port = wantedPort ?? (await freePort());
  let running: CollectorProcess | undefined;
  const start = async (): Promise<void> => {
    running = await startCollectorProcess({
      settings: {
        ...metadataSettings(join(directory, "ipaddrs.yml")),
        SVC_API_PORT: String(port),
        SVC_FLOW_SERVER_UDP_ENABLE: "true",
        SVC_OUTPUT_FILE_ENABLE: "true",
        SVC_OUTPUT_FILE_PATH: join(directory, "flows.ndjson"),
        SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
        SVC_EXPLORE_PATH: join(directory, "explore"),
        ...settings,
      },
    });
  };
  await start();
  let sequence = 0;
  const records = [
    { source: "10.10.20.5", destination: "10.10.10.16", bytes: 50_000, packets: 40 },
    { source: "10.10.10.16", destination: "10.10.20.5", bytes: 3000, packets: 30 },
    { source: "192.0.2.77", destination: "10.10.20.5", bytes: 900, packets: 3 },
  ];
  const timer = setInterval(() => {
    if (running === undefined) return;
    const datagram = netflowV5Datagram(records, sequence, Math.floor(Date.now() / 1000));
    sequence += records.length;
    void sendDatagram(running.flowPort, datagram);
  }, 200);
  cleanUp(t, async () => {
    clearInterval(timer);
    await running?.end("SIGKILL");
  });
  return {
    directory,
    url: `http://127.0.0.1:${port}`,
    collector() {
      if (running === undefined) throw new Error("the collector was ended");
      return running;
    },
    async end() {
      const ending = running;
      running = undefined;
      await ending?.end();
    },
    start,
  };
}

/** A TCP port that nobody has now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
