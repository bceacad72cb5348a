import type { Command } from "commander";
import type { CollectorAnswer, ExplainAddressResponseJson, ExploreProfile } from "../../server/index.ts";
import type { ApiClient } from "./client/api-call.ts";
import { addClientOptions, addScopedOptions, clientOf } from "./client/client-options.ts";
import { timeSpan, type DefineCommand } from "./command.ts";
import { addOutput, print, printTable, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, type Terminal } from "./terminal.ts";
import { showExplanation } from "./udm/explain-command.ts";
import { callTools } from "./udm/udm-json.ts";

type FlowRecord = Readonly<Record<string, unknown>>;
type Ranking = NonNullable<ExploreProfile["rankings"]>[number];

/** All known facts about a value, except those that the collector does not offer. */
interface Known {
  readonly explanation?: ExplainAddressResponseJson | undefined;
  readonly profile?: ExploreProfile | undefined;
  readonly location?: CollectorAnswer<"locate"> | undefined;
  readonly lastFlows?: readonly FlowRecord[] | undefined;
}

interface Options {
  readonly last: string;
  readonly output: OutputFormat;
}

/** Defines `address`: shows the content of an address's page. */
export const defineAddress: DefineCommand = (command, { terminal }) => {
  addOptions(addScopedOptions(command)).action(async (ip: string, options: Options) => {
    const field = ip.includes("/") ? "prefix" : "address";
    const client = await clientOf(command, terminal);
    const explanation =
      field === "prefix"
        ? undefined
        : ((await callTools(client, "ExplainAddress", { ip })) as ExplainAddressResponseJson);
    const path = `/api/v1/topology/locate/${encodeURIComponent(ip)}`;
    const location =
      field === "prefix"
        ? undefined
        : ((await offered(client.ask("GET", path))) as CollectorAnswer<"locate"> | undefined);
    await show({ field, value: ip }, { explanation, location }, client, options, terminal);
  });
};

/** Defines `value`: shows the content of any other value's page. */
export const defineValue: DefineCommand = (command, { terminal }) => {
  addOptions(addClientOptions(command)).action(async (field: string, value: string, options: Options) => {
    await show({ field, value }, {}, await clientOf(command, terminal), options, terminal);
  });
};

function addOptions(command: Command): Command {
  return addOutput(command).option("--last <time>", "how far to look back", timeSpan, "1h");
}

/** Returns the answer; undefined where that part of the collector is switched off. */
async function offered(asked: Promise<unknown>): Promise<unknown> {
  return asked.catch((error: unknown) => {
    if (error instanceof CommandError && ["not_found", "unimplemented"].includes(error.code)) return undefined;
    throw error;
  });
}

async function show(
  of: { readonly field: string; readonly value: string },
  found: Known,
  client: ApiClient,
  { last, output }: Options,
  terminal: Terminal,
): Promise<void> {
  const asked = client.ask("POST", "/api/v1/explore/profile", { ...of, from: `-${last}` });
  const profile = (await offered(asked)) as ExploreProfile | undefined;
  const body = { from: `-${last}`, filter: profile?.filter, limit: 10 };
  const flows = profile && (await client.ask("POST", "/api/v1/explore/flows", body));
  const known: Known = {
    ...found,
    profile,
    lastFlows: (flows as { readonly records: readonly FlowRecord[] } | undefined)?.records,
  };
  if (profile === undefined) terminal.err("this collector keeps no records to look back at: SVC_EXPLORE_ENABLE\n");
  const rows = (profile?.rankings ?? []).flatMap((ranking) =>
    ranking.rows.map(({ key, value, share }) => [ranking.name, ranking.way, keyText(key), value, share]),
  );
  await print(
    {
      value: known,
      head: ["ranking", "way", "key", "bytes", "share"],
      rows,
      text: () => textOf(of.value, known, last),
    },
    output,
    terminal,
  );
}

function textOf(value: string, { explanation, profile, location, lastFlows = [] }: Known, last: string): string {
  const parts = [explanation === undefined ? `${value}\n` : showExplanation(explanation)];
  if (profile !== undefined) parts.push(trafficText(profile, last), ...(profile.rankings ?? []).map(rankingText));
  if (location !== undefined && (location.device !== undefined || location.locations.length > 0)) {
    const rows = location.locations.map(({ name, port, mac, isEdge }) => [
      name,
      port.name ?? port.index,
      mac,
      isEdge ? "edge" : "leads there",
    ]);
    const device = location.device === undefined ? "" : `an address of the device ${location.device}\n`;
    parts.push(device + (rows.length === 0 ? "" : printTable(["switch", "port", "mac", "kind"], rows)));
  }
  if (lastFlows.length > 0) {
    parts.push(
      `last flows\n${printTable(["time", "from", "to", "protocol", "bytes", "packets"], lastFlows.map(flowRow))}`,
    );
  }
  return parts.filter((part) => part !== "").join("\n");
}

function trafficText({ traffic, seen }: ExploreProfile, last: string): string {
  const ways = (traffic?.ways ?? []).map(({ way, value, previous }) => [
    way,
    bitsText(value),
    previous === undefined ? "" : bitsText(previous.value),
  ]);
  const since =
    seen?.first === undefined
      ? "no record that is kept has it\n"
      : `first seen ${seen.first}, last seen ${seen.last ?? seen.first}; records are kept since ${seen.keptSince ?? "?"}\n`;
  return `${printTable(["way", `last ${last}`, "time before"], ways)}${since}`;
}

function rankingText({ name, way, rows, others }: Ranking): string {
  if (!rows.some(({ key }) => key.some((part) => part !== null))) return "";
  const lines: Cell[][] = rows.map(({ key, value, share }) => [
    key.map(partText).join(" ").trim(),
    value,
    shareText(share),
  ]);
  if (others.keys > 0) lines.push([`${others.keys} others`, others.value, shareText(others.share)]);
  return printTable([`${name}${way === "all" ? "" : ` ${way}`}`, "bytes", "share"], lines);
}

function flowRow(record: FlowRecord): readonly Cell[] {
  const end = (which: "src" | "dst"): string => {
    const [address, port, name] = ["ip.addr", "l4.port.id", "ip.subnet.name"].map((field) =>
      partText(record[`flow.${which}.${field}`]),
    );
    return [`${address ?? ""}${port === "" ? "" : ` port ${port ?? ""}`}`, name === "" ? "" : `(${name ?? ""})`]
      .join(" ")
      .trim();
  };
  const [time, protocol, bytes, packets] = ["@timestamp", "l4.proto.name", "flow.bytes", "flow.packets"].map((field) =>
    partText(record[field]),
  );
  return [time, end("src"), end("dst"), protocol, bytes, packets];
}

const partText = (part: unknown): string =>
  part === null || part === undefined ? "" : typeof part === "string" ? part : JSON.stringify(part);
const keyText = (key: readonly unknown[]): string =>
  key
    .map(partText)
    .filter((part) => part !== "")
    .join(" ");
const shareText = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Returns bits per second with an SI prefix: `1.25 Mbit/s`. */
function bitsText(value: number): string {
  const step = Math.min(5, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${Number((value / 1000 ** step).toPrecision(3))} ${["", "k", "M", "G", "T", "P"][step] ?? ""}bit/s`;
}
