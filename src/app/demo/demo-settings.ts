import { join } from "node:path";
import { readSettings, type Settings } from "../settings/index.ts";

/** Returns the directory with the definitions of the polled devices. */
export function devicesDirectory(directory: string): string {
  return join(directory, "devices");
}

/** The settings of the demonstration: all data in one directory, all ports on this host alone. */
export function demoSettings(directory: string, apiPort: string): Settings {
  const given = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
    SVC_API_PORT: apiPort,
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: devicesDirectory(directory),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE: "208KiB",
  };
  const layer = Object.entries(given).map(([name, text]) => ({ name, text, origin: "demo" }));
  return readSettings([layer], () => "").settings;
}
