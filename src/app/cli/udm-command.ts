import { InvalidArgumentError, Option, type Command } from "commander";
import { networkOfKey, parseKey } from "../../ip/index.ts";
import { addConfigOption, collect, commandSettings } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";
import { textTable } from "./text-table.ts";
import { apiUrl, createUdmCall, UdmClientError, type UdmCall, type UdmJson } from "./udm-client.ts";

interface SetOptions {
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly vlan?: string;
  readonly internal?: string;
  readonly meta?: Readonly<Record<string, string>>;
  readonly clear?: readonly string[];
}

/** `udm …`: a client of the metadata API of a running collector. */
export function addUdmCommand(program: Command, terminal: Terminal): Command {
  const udm = program.command("udm").description("read and change the metadata of a running collector");

  const client = (name: string, description: string): Command =>
    addConfigOption(udm.command(name).description(description))
      .helpGroup("Through the API:")
      .option("--url <url>", "the URL of the API, optionally with user:password@ (default: from the settings)");
  const callOf = async (command: Command): Promise<UdmCall> => {
    const { url } = command.opts<{ url?: string }>();
    return createUdmCall(url ?? apiUrl((await commandSettings(command, terminal)).settings));
  };

  const list = client("list [key]", "show all entries, or those related to an address, CIDR or range")
    .option("--exact", "only the entry with exactly this key")
    .option("--json", "one JSON object per line")
    .action(async (key: string | undefined, options: { exact?: boolean; json?: boolean }) => {
      const request = { ...(key === undefined ? {} : { key }), exact: options.exact === true };
      const { udms = [] } = (await (await callOf(list))("ListUdms", request)) as { udms?: UdmJson[] };
      if (options.json) terminal.out(udms.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      else terminal.out(textTable(["KEY", "NAME", "TAGS", "VLAN", "INTERNAL", "METADATA"], udms.map(tableRow)));
    });

  const count = client("count", "show how many entries there are").action(async () => {
    const { count: entries = 0 } = (await (await callOf(count))("CountUdms", {})) as { count?: number };
    terminal.out(`${entries}\n`);
  });

  const set = client("set <key>", "create an entry, or change the given fields of an existing one")
    .option("--name <name>", "its name")
    .option("--tag <tag>", "a tag; repeat for more; they replace all tags", collect)
    .option("--vlan <number>", "its VLAN", vlan)
    .addOption(
      new Option("--internal [value]", "whether its addresses are one's own: true or false")
        .preset("true")
        .argParser(trueOrFalse),
    )
    .option("--meta <key=value>", "a metadata value; repeat for more; they replace all metadata", keyAndValue)
    .option("--clear <field>", "clear this field: name, tags, vlan, internal, metadata; repeat for more", collect)
    .action(async (key: string, options: SetOptions) => {
      terminal.out(`${JSON.stringify(await setEntry(await callOf(set), key, options))}\n`);
      const network = networkOfKey(parseKey(key));
      if (network !== undefined) terminal.err(`warning: ${key} has host bits: it covers all of ${network}\n`);
    });

  const remove = client("delete <key>", "delete the entry with exactly this key").action(async (key: string) => {
    await (
      await callOf(remove)
    )("DeleteUdm", { key });
  });
  return udm;
}

/** Updates the named fields, or creates the entry. Another client may create or delete it meanwhile: one more try. */
async function setEntry(call: UdmCall, key: string, options: SetOptions): Promise<unknown> {
  const values: Record<string, unknown> = {};
  if (options.name !== undefined) values["name"] = options.name;
  if (options.tag !== undefined) values["tags"] = options.tag;
  if (options.vlan !== undefined) values["vlan"] = options.vlan;
  if (options.internal !== undefined) values["internal"] = options.internal === "true";
  if (options.meta !== undefined) values["metadata"] = options.meta;
  const mask = [...Object.keys(values), ...(options.clear ?? [])];
  const udm = { key, ...values };
  // An empty mask would mean "replace everything".
  if (mask.length === 0) return call("CreateUdm", { udm });
  try {
    return await call("UpdateUdm", { udm, update_mask: mask.join(",") });
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error;
  }
  try {
    return await call("CreateUdm", { udm });
  } catch (error) {
    if (!hasCode(error, "already_exists")) throw error;
    return call("UpdateUdm", { udm, update_mask: mask.join(",") });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof UdmClientError && error.code === code;
}

function tableRow(entry: UdmJson): string[] {
  const metadata = Object.entries(entry.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
  return [
    entry.key,
    entry.name ?? "",
    (entry.tags ?? []).join(","),
    entry.vlan ?? "",
    entry.internal ? "yes" : "",
    metadata.join(" "),
  ];
}

function vlan(value: string): string {
  // The API checks the range; as text it goes there exactly.
  if (!/^[0-9]+$/.test(value)) throw new InvalidArgumentError("expected a number.");
  return value;
}

function trueOrFalse(value: string): string {
  if (value !== "true" && value !== "false") throw new InvalidArgumentError("expected true or false.");
  return value;
}

function keyAndValue(text: string, previous: Readonly<Record<string, string>> = {}): Record<string, string> {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("expected key=value.");
  return { ...previous, [text.slice(0, equals)]: text.slice(equals + 1) };
}
