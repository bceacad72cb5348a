import { addClientOptions, clientOf } from "../client/client-options.ts";
import { CommandError } from "../command-error.ts";
import type { DefineCommand } from "../command-row.ts";
import { entryFormat, outputOption, type FormatName } from "./entry-formats.ts";
import { searchUdms } from "./tools-json.ts";
import { wholeNumber } from "./whole-number.ts";
import { writeAll } from "./write-all.ts";

interface SearchOptions {
  readonly filter?: string;
  readonly order?: string;
  readonly limit?: number;
  readonly layers?: boolean;
  readonly output: FormatName;
}

/** `udm search`. */
export const defineSearch: DefineCommand = (search, { terminal }) => {
  addClientOptions(search)
    .option("--filter <udm-filter>", "such as 'tag = pci and metadata.site in (AMS1, FRA2)'; see docs/filters.md")
    .option("--order <field>", "key, name or vlan; -name is the other way round")
    .option("--limit <number>", "as many at most", wholeNumber)
    .option("--layers", "also the entries of sources; a filter that names layer has them without it")
    .addOption(outputOption())
    .action(async (text: string | undefined, { filter, order, limit, layers: all = false, output }: SearchOptions) => {
      const layers = all || /\blayer\b/.test(filter ?? "");
      if (layers && output === "yaml") {
        throw new CommandError(
          "usage",
          "YAML is a metadata file, which has no entries of sources: use json, ndjson or csv",
        );
      }
      const client = await clientOf(search, terminal);
      const request = {
        ...(text !== undefined && { text }),
        ...(filter !== undefined && { filter }),
        ...(order !== undefined && { order }),
        ...(layers && { layers }),
      };
      const format = await entryFormat(output, { layers });
      if (await writeAll(terminal, searchUdms(client, request, limit), format.batch)) terminal.out(format.end());
    });
};
