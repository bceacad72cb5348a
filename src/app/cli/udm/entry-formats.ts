import { Option } from "commander";
import { csvLine, tableWriter } from "../terminal.ts";
import type { UdmJson } from "./udm-json.ts";

/** A format of entries: the text of each batch, and the text at the end. */
export interface EntryFormat {
  readonly batch: (entries: readonly UdmJson[]) => string;
  readonly end: () => string;
}

export const formatNames = ["table", "json", "ndjson", "yaml", "csv", "name"] as const;
export type FormatName = (typeof formatNames)[number];

/** Returns the option `-o, --output`. */
export function outputOption(formats: readonly FormatName[] = formatNames, fallback: FormatName = "table"): Option {
  return new Option("-o, --output <format>", "how to write it").choices([...formats]).default(fallback);
}

/** Options that add parts of entries. */
export interface EntryFormatOptions {
  /** True to include the source of each entry, also in tables and sheets. */
  readonly layers?: boolean;
}

const columns = ["KEY", "NAME", "TAGS", "VLAN", "INTERNAL", "CONTEXTS", "METADATA"];

const formats: Readonly<Record<FormatName, (options: EntryFormatOptions) => EntryFormat | Promise<EntryFormat>>> = {
  table: ({ layers = false }) =>
    layers
      ? tableWriter<UdmJson>(["LAYER", ...columns], (entry) => [entry.layer ?? "", ...tableRow(entry)])
      : tableWriter(columns, tableRow),
  json: jsonArray,
  ndjson: () => lines((entry) => JSON.stringify(entry)),
  yaml: async () => yaml((await import("./entry-yaml.ts")).entryYaml),
  csv,
  name: () => lines(({ key }) => key),
};

/** Returns a writer of entries. */
export async function entryFormat(name: FormatName, options: EntryFormatOptions = {}): Promise<EntryFormat> {
  return formats[name](options);
}

/** Returns the format of a metadata file. */
function yaml(textOf: (entry: UdmJson) => string): EntryFormat {
  let isEmpty = true;
  return {
    batch(entries) {
      isEmpty &&= entries.length === 0;
      return entries.map(textOf).join("");
    },
    end: () => (isEmpty ? "{}\n" : ""),
  };
}

function lines(line: (entry: UdmJson) => string): EntryFormat {
  return { batch: (entries) => entries.map((entry) => `${line(entry)}\n`).join(""), end: () => "" };
}

/** Returns a JSON array with one element a line. */
function jsonArray(): EntryFormat {
  let before = "[";
  return {
    batch(entries) {
      let text = "";
      for (const entry of entries) {
        text += `${before}\n${JSON.stringify(entry)}`;
        before = ",";
      }
      return text;
    },
    end: () => (before === "[" ? "[]\n" : "\n]\n"),
  };
}

/** Returns CSV (RFC 4180) with line feeds: tags and contexts separated by commas, metadata as JSON. It can be imported. */
function csv({ layers = false }: EntryFormatOptions): EntryFormat {
  let header = `${layers ? "layer," : ""}key,name,tags,vlan,internal,contexts,metadata\n`;
  return {
    batch(entries) {
      const rows = entries.map(
        ({ key, name = "", tags = [], vlan = "", internal = false, contexts = [], metadata, layer }) =>
          csvLine([
            ...(layers ? [layer ?? ""] : []),
            key,
            name,
            tags.join(","),
            vlan,
            internal ? "true" : "",
            contexts.join(","),
            metadata === undefined ? "" : JSON.stringify(metadata),
          ]),
      );
      const text = header + rows.map((row) => `${row}\n`).join("");
      header = "";
      return text;
    },
    end: () => header,
  };
}

function tableRow(entry: UdmJson): string[] {
  const metadata = Object.entries(entry.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
  return [
    entry.key,
    entry.name ?? "",
    (entry.tags ?? []).join(","),
    entry.vlan ?? "",
    entry.internal === true ? "yes" : "",
    (entry.contexts ?? []).join(","),
    metadata.join(" "),
  ];
}
