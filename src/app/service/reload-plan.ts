import type { Settings } from "../settings/index.ts";
import { missingForMetadataApi } from "../../metadata/settings.ts";
import { receivesFlows } from "../../flow/settings.ts";

/**
 * Describes for the log the effect of SIGHUP, and names files that it does not reread although an operator may expect it, with the reason.
 *
 * @param hasMetadata true if the metadata file has been read; if not, it is tried again, whoever owns it.
 */
export function reloadPlan(
  settings: Settings,
  hasMetadata: boolean,
): { readonly readsAgain: readonly string[]; readonly leavesAlone: readonly string[] } {
  const readsAgain: string[] = [];
  const leavesAlone = ["settings: only a restart reads them"];
  const reads = (isOn: boolean, what: string): void => void (isOn && readsAgain.push(what));

  reads(settings.SVC_API_TLS_ENABLE, "certificate and key of the API");
  reads(settings.SVC_API_USERS_PATH !== "", "users and tokens");
  reads(settings.SVC_FLOW_SERVER_TLS_ENABLE, "certificates and key of the flow port");
  const metadataPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH;
  const isShared = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_STORE === "postgresql";
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE && isShared) readsAgain.push("metadata of the database");
  else if (settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE && metadataPath !== "") {
    const isOwned = missingForMetadataApi(settings).length === 0;
    if (!isOwned || !hasMetadata) readsAgain.push("metadata file");
    else leavesAlone.push("metadata file: the API owns it; stop netgloss to edit it by hand");
  }
  if (settings.SVC_PROCESSOR_ENRICH_NAMES_PATH !== "") {
    if (!settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE) readsAgain.push("names");
    else leavesAlone.push("file of names: the API owns it; stop netgloss to edit it by hand");
  }
  const ownsEntries = missingForMetadataApi(settings).length === 0;
  reads(settings.SVC_PROCESSOR_ENRICH_SCOPES_PATH !== "", ownsEntries ? "scopes" : "scopes and their entries");
  reads(settings.SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH !== "", "sources of metadata");
  reads(settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE, "database of AS numbers");
  reads(settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE, "database of places");
  if (receivesFlows(settings)) {
    reads(settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE, "interface metadata");
    const hasApps = settings.SVC_PROCESSOR_ENRICH_APP_ID_ENABLE || settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE;
    reads(hasApps, "applications");
    reads(settings.SVC_PROCESSOR_ENRICH_RULES_PATH !== "", "rules");
    const hasPorts = settings.SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE;
    reads(hasPorts && settings.SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH !== "", "port names");
  }
  reads(settings.SVC_WATCH_RULES_PATH !== "", "rules on flows");
  reads(settings.SVC_INPUT_SNMP_ENABLE, "SNMP definitions");
  return { readsAgain, leavesAlone };
}
