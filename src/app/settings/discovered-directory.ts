import { join } from "node:path";
import type { Settings } from "./settings-table.ts";

/** Where discovery of networks writes device files; empty: the settings name no place for them. */
export function discoveredDirectory(settings: Settings): string {
  if (settings.SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH !== "") {
    return settings.SVC_INPUT_SNMP_DISCOVERY_DEVICES_DIRECTORY_PATH;
  }
  const kept = settings.SVC_INPUT_SNMP_PERSIST_ENABLE ? settings.SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH : "";
  return kept === "" ? "" : join(kept, "discovered");
}
