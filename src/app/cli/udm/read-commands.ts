import type { Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { entryFormat, outputOption, type FormatName } from "./entry-formats.ts";
import { writeAll } from "./write-all.ts";
import { findFullUdm, readFullUdms } from "./full-entries.ts";
import { callUdm, noEntries, readUdmKeys, type UdmJson } from "./udm-json.ts";

interface ListOptions {
  readonly exact?: boolean;
  readonly json?: boolean;
  readonly output: FormatName;
}

/** `udm get`, `list`, `count`. */
export function addReadCommands(udm: Command, terminal: Terminal): void {
  const get = addClientOptions(udm.command("get <keys...>"))
    .description("show the entries with exactly these keys")
    .addOption(outputOption())
    .action(async (keys: readonly string[], { output }: { output: FormatName }) => {
      const client = await clientOf(get, terminal);
      const found: UdmJson[] = [];
      const missing: string[] = [];
      for (const key of keys) {
        const entry = await findFullUdm(client, key);
        if (entry === undefined) missing.push(key);
        else found.push(entry);
      }
      if (output === "json" && keys.length === 1)
        terminal.out(found.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      else if (found.length > 0) {
        const format = await entryFormat(output);
        terminal.out(format.batch(found) + format.end());
      }
      if (missing.length > 0) throw noEntries(missing);
    });

  const list = addClientOptions(udm.command("list [key]"))
    .description("show all entries, or those related to an address, CIDR or range")
    .option("--exact", "only the entry with exactly this key")
    .addOption(outputOption())
    .option("--json", "short for --output ndjson: one JSON object per line")
    .action(async (key: string | undefined, options: ListOptions) => {
      const client = await clientOf(list, terminal);
      const selection = { ...(key !== undefined && { key }), exact: options.exact === true };
      if (options.output === "name" && options.json !== true) {
        await writeAll(terminal, readUdmKeys(client, selection), (keys) => keys.map((text) => `${text}\n`).join(""));
        return;
      }
      const output = options.json === true ? "ndjson" : options.output;
      const format = await entryFormat(output);
      if (await writeAll(terminal, readFullUdms(client, selection), format.batch)) terminal.out(format.end());
    });

  const count = addClientOptions(udm.command("count"))
    .description("show how many entries there are")
    .action(async () => {
      const { count: entries = 0 } = (await callUdm(await clientOf(count, terminal), "CountUdms", {})) as {
        count?: number;
      };
      terminal.out(`${entries}\n`);
    });
}
