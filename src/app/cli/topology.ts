import type { CollectorAnswer } from "../../server/index.ts";
import type { ApiClient } from "./client/api-call.ts";
import { parseAddress } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { CommandError, type Terminal, textTable } from "./terminal.ts";

type Output = Pick<Terminal, "out" | "err">;
type Link = CollectorAnswer<"getTopology">["links"][number];

/** Lists the links between devices. */
export async function showLinks(api: ApiClient, isJson: boolean, { out, err }: Output): Promise<void> {
  const { enabled, links } = (await api.ask("GET", "/api/v1/topology")) as CollectorAnswer<"getTopology">;
  if (!enabled)
    err("no links are inferred by this collector: SVC_INPUT_SNMP_TOPOLOGY_ENABLE is false, or no devices are polled\n");
  if (isJson) return out(links.map((one) => `${JSON.stringify(one)}\n`).join(""));
  const rows = links.map(({ layer, a, b, state, confidence, evidence, doubts }) => [
    String(layer),
    endText(a),
    endText(b),
    state === "up" ? confidence : "gone",
    [...new Set(evidence.map(({ kind }) => kind))].join(" "),
    doubts.join(" "),
  ]);
  out(textTable(["LAYER", "ONE END", "OTHER END", "STATE", "EVIDENCE", "DOUBTS"], rows));
}

function endText({ name, address, port }: Link["a"]): string {
  return [name ?? address ?? "", port?.name ?? port?.index].filter((text) => text !== undefined).join(" ");
}

/** Shows the switch ports at which an address was learnt. @returns false when there is none. */
export async function locate(address: string, api: ApiClient, isJson: boolean, { out, err }: Output): Promise<boolean> {
  const isMac = /^[\da-f]{2}(?:[:-][\da-f]{2}){5}$/i.test(address);
  if (parseAddress(address) === undefined && !isMac)
    throw new CommandError("usage", `${quote(address)} is neither an IP nor a MAC address`);
  const path = `/api/v1/topology/locate/${encodeURIComponent(address)}`;
  const found = (await api.ask("GET", path)) as CollectorAnswer<"locate">;
  if (isJson) out(`${JSON.stringify(found)}\n`);
  const { locations, device, macs } = found;
  if (device !== undefined && !isJson) out(`${address} is an address of the device ${device}.\n`);
  if (locations.length === 0) {
    const known =
      macs.length === 0 && !isMac ? "no ARP table has it" : `no switch has learnt ${macs.join(", ") || "it"}`;
    if (device === undefined) err(`${address} was not found: ${known}\n`);
    return device !== undefined;
  }
  if (isJson) return true;
  const rows = locations.map(({ name, port, mac, isEdge, addresses, at }) => [
    name,
    port.name ?? String(port.index ?? ""),
    mac,
    isEdge ? "edge" : "leads there",
    String(addresses),
    new Date(at).toISOString(),
  ]);
  out(textTable(["SWITCH", "PORT", "MAC", "KIND", "ADDRESSES", "READ"], rows));
  return true;
}
