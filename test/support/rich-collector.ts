import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { startCollectorProcess, metadataSettings, type CollectorProcess } from "./collector-process.ts";
import { tempDirectory } from "./temp-directory.ts";

const watchRules = `actions:
  noc: {webhook: {url: "http://127.0.0.1:9"}}
rules:
  - {name: flood, by: [flow.dst.ip.addr], measure: bits_per_second, when: "> 500M", act: noc}
`;

/**
 * A collector with every kind of part at work that has metrics of its own; its metadata is in a file.
 *
 * @param database a URL of PostgreSQL: there it joins a fleet
 */
export async function startRichCollector(t: TestContext, database: string): Promise<CollectorProcess> {
  const directory = tempDirectory(t);
  writeFileSync(join(directory, "scopes.yml"), "acme:\n  entries: acme.yml\n");
  writeFileSync(join(directory, "watch.yml"), watchRules);
  writeFileSync(join(directory, "rules.yml"), "- when: dst.port = 443\n  set: {service: web}\n");
  const collector = await startCollectorProcess({
    settings: {
      ...metadataSettings(join(directory, "ipaddrs.yml")),
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_PROCESSOR_ENRICH_SCOPES_PATH: join(directory, "scopes.yml"),
      SVC_PROCESSOR_ENRICH_RULES_PATH: join(directory, "rules.yml"),
      SVC_PROCESSOR_ENRICH_NAMES_PATH: join(directory, "names.yml"),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_TCP_ENABLE: "true",
      SVC_FLOW_SERVER_TCP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_TCP_PORT: "0",
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_INPUT_TRAP_ENABLE: "true",
      SVC_INPUT_TRAP_LISTENER_IP: "127.0.0.1",
      SVC_INPUT_TRAP_LISTENER_PORT: "0",
      SVC_WATCH_RULES_PATH: join(directory, "watch.yml"),
      SVC_EXPLORE_ENABLE: "true",
      SVC_EXPLORE_PATH: join(directory, "explore"),
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: join(directory, "flows.ndjson"),
      SVC_OUTPUT_KAFKA_ENABLE: "true",
      SVC_OUTPUT_KAFKA_BROKERS: "127.0.0.1:1",
      SVC_OUTPUT_CLICKHOUSE_ENABLE: "true",
      SVC_OUTPUT_CLICKHOUSE_ADDRESSES: "http://127.0.0.1:1",
      SVC_FLEET_NAME: "test",
      SVC_FLEET_POSTGRESQL_URL: database,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  return collector;
}

/** A collector whose metadata is in a database. */
export async function startSharingCollector(t: TestContext, database: string): Promise<CollectorProcess> {
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "false",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE: "postgresql",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: database,
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  return collector;
}
