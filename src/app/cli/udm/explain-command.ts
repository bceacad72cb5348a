import { InvalidArgumentError, Option } from "commander";
import { addScopedOptions, clientOf } from "../client/client-options.ts";
import { addOutput, print, type Cell, type OutputFormat } from "../print.ts";
import { CommandError } from "../terminal.ts";
import { type DefineCommand } from "../command.ts";
import { callTools } from "./udm-json.ts";
import type {
  ExplainAddressResponseJson,
  ExplainedContextJson,
  ExplainedLoserJson,
  ExplainedOriginJson,
} from "../../../server/index.ts";

/** The record objects for the fields of a context. Without this prefix, fields start with a period as in metadata. */
const objects: Readonly<Record<string, string>> = {
  src: "flow.src",
  dst: "flow.dst",
  exporter: "flow.export",
  system: "system",
};

/** The prefix of a value that is not used. */
const lost = "x ";

/**
 * Returns an explanation as text: a line for each field with its value and its origin, and below it the unused values with the reason.
 * Contexts with equal content are shown as one.
 */
export function showExplanation(answer: unknown): string {
  const { ip = "", contexts = [] } = answer as ExplainAddressResponseJson;
  const blocks = new Map<string, string[]>();
  for (const context of contexts) {
    const text = showContext(context);
    blocks.set(text, [...(blocks.get(text) ?? []), context.context ?? ""]);
  }
  const shown = Array.from(blocks, ([text, names]) => {
    const where = names.map((name) => objects[name] ?? name);
    return `\n${names.join(", ")}: below ${where.join(", ")}\n${text}`;
  });
  return `${ip}\n${shown.join("")}`;
}

/** Returns a row for each field and its origin, and for each unused value. */
function explanationRows({ contexts = [] }: ExplainAddressResponseJson): readonly (readonly Cell[])[] {
  return contexts.flatMap(({ context = "", fields = [], ignored = [] }) => {
    const lostRow = ({ field, value, origin, reason }: ExplainedLoserJson, of = field): readonly Cell[] => [
      context,
      of,
      value,
      originText(origin),
      reason,
    ];
    return [
      ...fields.flatMap(({ field = "", value = "", origins = [], losers = [] }) => [
        ...partsOf(value, origins).map(([part, origin]): readonly Cell[] => [
          context,
          field,
          part,
          originText(origin),
          "",
        ]),
        ...losers.map((loser) => lostRow(loser, field)),
      ]),
      ...ignored.map((loser) => lostRow(loser)),
    ];
  });
}

type Row = readonly [field: string, value: string, from: string];

function showContext({ context = "", fields = [], ignored = [] }: ExplainedContextJson): string {
  const rows: Row[] = [];
  const object = `${objects[context] ?? context}.`;
  const short = (field: string): string => (field.startsWith(object) ? field.slice(object.length - 1) : field);
  const because = ({ origin, reason = "" }: ExplainedLoserJson): string => `${originText(origin)}: ${reason}`;
  for (const { field = "", value = "", origins = [], losers = [] } of fields) {
    for (const [i, [part, origin]] of partsOf(value, origins).entries()) {
      rows.push([i === 0 ? short(field) : "", part, originText(origin)]);
    }
    for (const loser of losers) rows.push(["", lost + (loser.value ?? ""), because(loser)]);
  }
  for (const loser of ignored) {
    const { field = "", value = "" } = loser;
    rows.push(field === "" ? [`${lost}all fields`, "", because(loser)] : [lost + short(field), value, because(loser)]);
  }
  return rows.length === 0 ? "  nothing\n" : columns(rows);
}

/** Splits the values of a list when each comes from its own entry. */
function partsOf(
  value: string,
  origins: readonly ExplainedOriginJson[],
): readonly (readonly [string, ExplainedOriginJson | undefined])[] {
  const list: unknown = origins.length > 1 ? JSON.parse(value) : undefined;
  if (!Array.isArray(list) || list.length !== origins.length) return [[value, origins[0]]];
  return list.map((element, i) => [JSON.stringify(element), origins[i]]);
}

const sources: Readonly<Record<string, string>> = {
  mmdb: "the databases of locations and systems",
  dns: "the name of the host",
  locality: "the kind of the address",
  ports: "the name of the port",
  apps: "the file of applications",
  netif: "the file of interfaces",
  snmp: "the device, by SNMP",
};

function originText(origin: ExplainedOriginJson | undefined): string {
  if (origin === undefined) return "";
  const { source = "", key = "", layer = "", change = 0, author = "", time = "", file = "", line = 0 } = origin;
  if (source !== "metadata") return sources[source] ?? source;
  // The enrichment itself may add a context or an object of metadata.
  if (key === "") return source;
  if (layer !== "") return `${key} (layer ${layer})`;
  // JSON and YAML have the whole path.
  const name = file.slice(file.lastIndexOf("/") + 1);
  const place = line === 0 ? name : `${name}:${line}`;
  if (change === 0) return `${key} (${place === "" ? "the file" : place})`;
  const who = `change ${change} by ${author === "" ? "unknown" : author}, ${time.replace(/\.\d+Z$/, "Z")}`;
  return `${key} (${place === "" ? who : `${place}, ${who}`})`;
}

function columns(rows: readonly Row[]): string {
  const printable = rows.map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, "?")));
  const widths = [0, 1].map((i) => Math.max(...printable.map((row) => row[i]?.length ?? 0)));
  const lines = printable.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
  return lines.map((line) => `  ${line.trimEnd()}\n`).join("");
}

interface ExplainOptions {
  readonly context?: string;
  readonly port?: Port;
  readonly interface?: Netif;
  readonly output: OutputFormat;
}

interface Port {
  readonly port: number;
  readonly protocol: number;
}

interface Netif {
  readonly exporter: string;
  readonly ifIndex: number;
}

const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, dccp: 33, sctp: 132, udplite: 136 };

function readPort(text: string): Port {
  const [, number = "", protocol = "tcp"] = /^(\d{1,5})(?:\/(\w+))?$/.exec(text) ?? [];
  const port = Number(number);
  const id = protocols[protocol.toLowerCase()] ?? (/^\d{1,3}$/.test(protocol) ? Number(protocol) : 0);
  if (port < 1 || port > 65_535 || id < 1 || id > 255) {
    throw new InvalidArgumentError(
      "Expected a port from 1 to 65535, and tcp, udp, sctp, dccp or a number behind a slash.",
    );
  }
  return { port, protocol: id };
}

function readNetif(text: string): Netif {
  const [, exporter = "", index = ""] = /^(.+)@(\d{1,10})$/.exec(text) ?? [];
  const ifIndex = Number(index);
  if (ifIndex < 1 || ifIndex > 0xffff_ffff) {
    throw new InvalidArgumentError("Expected the address of an exporter, @ and an ifIndex: 192.0.2.1@5.");
  }
  return { exporter, ifIndex };
}

/** Defines `udm explain`. */
export const defineExplain: DefineCommand = (explain, { terminal }) => {
  addOutput(addScopedOptions(explain))
    .addOption(
      new Option("--context <name>", "only as this end of a flow, or as this device").choices([
        "src",
        "dst",
        "exporter",
        "system",
      ]),
    )
    .addOption(new Option("--port <port>", "also what its port adds: 443, 53/udp, 2905/132").argParser(readPort))
    .addOption(
      new Option("--interface <exporter@index>", "also what is known of the interface of an exporter").argParser(
        readNetif,
      ),
    )
    .action(async (ip: string, { context = "", port, interface: netif, output }: ExplainOptions) => {
      if (/[/-]/.test(ip)) {
        throw new CommandError(
          "usage",
          `explain takes one address; what is about all of ${ip}: ${terminal.startedAs} udm list ${ip}`,
        );
      }
      const question = { ip, context, ...port, ...netif };
      const answer = await callTools(await clientOf(explain, terminal), "ExplainAddress", question);
      const rows = explanationRows(answer as ExplainAddressResponseJson);
      const head = ["context", "field", "value", "from", "unused"];
      await print({ value: answer, head, rows, text: () => showExplanation(answer) }, output, terminal);
    });
};
