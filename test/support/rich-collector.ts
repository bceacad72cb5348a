import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { startCollectorProcess, metadataSettings, type CollectorProcess } from "./collector-process.ts";
import { tempDirectory } from "./temp-directory.ts";

/** A collector with every kind of part at work that has metrics of its own, and one flow that has come in. */
export async function startRichCollector(t: TestContext): Promise<CollectorProcess> {
  const directory = tempDirectory(t);
  const collector = await startCollectorProcess({
    settings: {
      ...metadataSettings(join(directory, "ipaddrs.yml")),
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_TCP_ENABLE: "true",
      SVC_FLOW_SERVER_TCP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_TCP_PORT: "0",
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_INPUT_TRAP_ENABLE: "true",
      SVC_INPUT_TRAP_LISTENER_IP: "127.0.0.1",
      SVC_INPUT_TRAP_LISTENER_PORT: "0",
      SVC_EXPLORE_ENABLE: "true",
      SVC_EXPLORE_PATH: join(directory, "explore"),
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: join(directory, "flows.ndjson"),
      SVC_OUTPUT_KAFKA_ENABLE: "true",
      SVC_OUTPUT_KAFKA_BROKERS: "127.0.0.1:1",
      SVC_OUTPUT_CLICKHOUSE_ENABLE: "true",
      SVC_OUTPUT_CLICKHOUSE_ADDRESSES: "http://127.0.0.1:1",
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  return collector;
}
