import { InvalidArgumentError, type Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { entryFormat, outputOption, type FormatName } from "./entry-formats.ts";
import { searchUdms } from "./tools-json.ts";
import { writeAll } from "./write-all.ts";

interface SearchOptions {
  readonly filter?: string;
  readonly order?: string;
  readonly limit?: number;
  readonly output: FormatName;
}

/** `udm search`. */
export function addSearchCommand(udm: Command, terminal: Terminal): void {
  const search = addClientOptions(udm.command("search [text]"))
    .description("show the entries with a text in key, name, tags or metadata, or those that a filter is true of")
    .option("--filter <udm-filter>", "such as 'tag = pci and metadata.site in (AMS1, FRA2)'; see docs/filters.md")
    .option("--order <field>", "key, name or vlan; -name is the other way round")
    .option("--limit <number>", "as many at most", wholeNumber)
    .addOption(outputOption())
    .action(async (text: string | undefined, { filter, order, limit, output }: SearchOptions) => {
      const client = await clientOf(search, terminal);
      const request = {
        ...(text !== undefined && { text }),
        ...(filter !== undefined && { filter }),
        ...(order !== undefined && { order }),
      };
      const format = await entryFormat(output);
      if (await writeAll(terminal, searchUdms(client, request, limit), format.batch)) terminal.out(format.end());
    });
}

/** A number of 1 or more. */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}
