import type { CollectorAnswer } from "../../server/index.ts";
import type { ApiClient } from "./client/api-call.ts";
import { parseAddress } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { print, printTable, shownTime, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, type Terminal } from "./terminal.ts";

type Output = Pick<Terminal, "out" | "err">;
type Link = CollectorAnswer<"getTopology">["links"][number];

/** Lists the links between devices. */
export async function showLinks(api: ApiClient, format: OutputFormat, terminal: Output): Promise<void> {
  const { enabled, links } = (await api.ask("GET", "/api/v1/topology")) as CollectorAnswer<"getTopology">;
  if (!enabled)
    terminal.err(
      "no links are inferred by this collector: SVC_INPUT_SNMP_TOPOLOGY_ENABLE is false, or no devices are polled\n",
    );
  const rows = links.map(({ layer, a, b, state, confidence, evidence, doubts }) => [
    layer,
    endText(a),
    endText(b),
    state === "up" ? confidence : "gone",
    [...new Set(evidence.map(({ kind }) => kind))].join(" "),
    doubts.join(" "),
  ]);
  const head = ["layer", "oneEnd", "otherEnd", "state", "evidence", "doubts"];
  await print({ value: links, head, rows }, format, terminal);
}

function endText({ name, address, port }: Link["a"]): string {
  return [name ?? address ?? "", port?.name ?? port?.index].filter((text) => text !== undefined).join(" ");
}

/** Shows the switch ports at which an address was learnt. @returns false when there is none. */
export async function locate(
  address: string,
  api: ApiClient,
  format: OutputFormat,
  terminal: Output,
): Promise<boolean> {
  const isMac = /^[\da-f]{2}(?:[:-][\da-f]{2}){5}$/i.test(address);
  if (parseAddress(address) === undefined && !isMac)
    throw new CommandError("usage", `${quote(address)} is neither an IP nor a MAC address`);
  const path = `/api/v1/topology/locate/${encodeURIComponent(address)}`;
  const found = (await api.ask("GET", path)) as CollectorAnswer<"locate">;
  const { locations, device, macs } = found;
  const head = ["switch", "port", "mac", "kind", "addresses", "read"];
  const rows: Cell[][] = locations.map(({ name, port, mac, isEdge, addresses, at }) => [
    name,
    port.name ?? port.index,
    mac,
    isEdge ? "edge" : "leads there",
    addresses,
    shownTime(at),
  ]);
  const ofDevice = device === undefined ? "" : `${address} is an address of the device ${device}.\n`;
  const text = (): string => ofDevice + (rows.length === 0 ? "" : printTable(head, rows));
  await print({ value: found, head, rows, text }, format, terminal);
  if (locations.length > 0 || device !== undefined) return true;
  const known = macs.length === 0 && !isMac ? "no ARP table has it" : `no switch has learnt ${macs.join(", ") || "it"}`;
  terminal.err(`${address} was not found: ${known}\n`);
  return false;
}
