import { constants, copyFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "../../base/file/index.ts";
import type { Settings } from "../settings/index.ts";

/**
 * Creates the directories of the metadata file and of the output file, and copies the sample if the metadata file is
 * missing. An existing file is not touched.
 */
export function prepareQuickstart(settings: Settings, samplePath: string): void {
  const metadataPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH;
  if (settings.SVC_OUTPUT_FILE_ENABLE) makeFolderSync(dirname(settings.SVC_OUTPUT_FILE_PATH));
  if (metadataPath === "") return;
  makeFolderSync(dirname(metadataPath));
  try {
    copyFileSync(samplePath, metadataPath, constants.COPYFILE_EXCL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Returns next steps to try, as commands that can be copied. */
export function quickstartHints(settings: Settings, apiBase: string, flowPorts: readonly number[]): string {
  const lines = [
    "",
    `netgloss runs: open ${apiBase}/ in a browser.`,
    "To try from another terminal:",
    "",
    "  # what is known about an address",
    `  ${curlLine(apiBase, "ListUdms", { key: "10.10.20.5" })}`,
    "  # what records get of it, and which entry gave each field",
    `  node bin/netgloss.js udm explain 10.10.20.5 --url ${apiBase}`,
    "  # give your own host another name than the sample does",
    `  ${curlLine(apiBase, "UpdateUdm", { udm: { key: "127.0.0.0/8", name: "my-host" }, update_mask: "name" })}`,
  ];
  if (flowPorts.length > 0) {
    lines.push(
      `  # send flows: point a router at UDP port ${flowPorts.join(" or ")} of this host (NetFlow, IPFIX or sFlow), or`,
      `  sudo softflowd -i lo -d -v 9 -t maxlife=5 -n 127.0.0.1:${flowPorts[0]}`,
    );
  }
  if (settings.SVC_OUTPUT_FILE_ENABLE) lines.push("  # read the records", `  tail -f ${settings.SVC_OUTPUT_FILE_PATH}`);
  lines.push("  # health and metrics", `  curl -s ${apiBase}/readyz`, `  curl -s ${apiBase}/metrics`, "");
  return `${lines.join("\n")}\n`;
}

/** Returns a command that calls one method of the metadata API. */
export function curlLine(apiBase: string, method: string, request: unknown): string {
  const url = `${apiBase}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`;
  return `curl -s ${url} -H 'content-type: application/json' -d '${JSON.stringify(request)}'`;
}
