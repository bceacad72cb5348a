import { addClientOptions, clientOf } from "../client/client-options.ts";
import { CommandError } from "../command-error.ts";
import type { DefineCommand } from "../command-row.ts";
import { entryFormat, outputOption, type FormatName } from "./entry-formats.ts";
import { writeAll } from "./write-all.ts";
import { findFullUdm, readFullUdms } from "./full-entries.ts";
import { callUdm, noEntries, readUdmKeys, type UdmJson } from "./udm-json.ts";

interface ListOptions {
  readonly exact?: boolean;
  readonly json?: boolean;
  readonly output: FormatName;
}

/** `udm get`. */
export const defineGet: DefineCommand = (get, { terminal }) => {
  addClientOptions(get)
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
};

/** `udm list`. */
export const defineList: DefineCommand = (list, { terminal }) => {
  addClientOptions(list)
    .option("--exact", "only the entry with exactly this key")
    .addOption(outputOption())
    .option("--json", "short for --output ndjson: one JSON object per line")
    .action(async (key: string | undefined, options: ListOptions) => {
      const client = await clientOf(list, terminal);
      if (options.exact === true && key === undefined)
        throw new CommandError("usage", "--exact is of one key: give it");
      const selection = { ...(key !== undefined && { key }), exact: options.exact === true };
      if (options.output === "name" && options.json !== true) {
        await writeAll(terminal, readUdmKeys(client, selection), (keys) => keys.map((text) => `${text}\n`).join(""));
        return;
      }
      const output = options.json === true ? "ndjson" : options.output;
      const format = await entryFormat(output);
      if (await writeAll(terminal, readFullUdms(client, selection), format.batch)) terminal.out(format.end());
    });
};

/** `udm count`. */
export const defineCount: DefineCommand = (count, { terminal }) => {
  addClientOptions(count).action(async () => {
    const { count: entries = 0 } = (await callUdm(await clientOf(count, terminal), "CountUdms", {})) as {
      count?: number;
    };
    terminal.out(`${entries}\n`);
  });
};
