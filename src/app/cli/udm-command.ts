import { InvalidArgumentError, Option, type Command } from "commander";
import { networkOfKey, parseKey } from "../../ip/index.ts";
import { addClientOptions, placeOf } from "./client-options.ts";
import { collect } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";
import { textTable } from "./text-table.ts";
import { createUdmCall, UdmClientError, type UdmCall, type UdmJson } from "./udm-client.ts";

interface SetOptions {
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly vlan?: string;
  readonly internal?: string;
  /** What is to be removed is undefined. */
  readonly meta?: ReadonlyMap<string, string | undefined>;
  readonly clear?: readonly string[];
}

/** `udm …`: a client of the metadata API of a running collector. */
export function addUdmCommand(program: Command, terminal: Terminal): Command {
  const udm = program.command("udm").description("read and change the metadata of a running collector");

  const client = (name: string, description: string): Command =>
    addClientOptions(udm.command(name).description(description));
  const callOf = async (command: Command): Promise<UdmCall> => createUdmCall(await placeOf(command, terminal));

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
    .option(
      "--tag <tag>",
      "+tag adds a tag, -tag removes one; tags without a sign replace all; repeat for more",
      collect,
    )
    .option("--vlan <number>", "its VLAN", vlan)
    .addOption(
      new Option("--internal [value]", "whether its addresses are one's own: true or false")
        .preset("true")
        .argParser(trueOrFalse),
    )
    .option(
      "--meta <key=value>",
      "sets a metadata value, -key removes one; the others stay; repeat for more",
      metadataChange,
    )
    .option(
      "--clear <field>",
      "clear this field before the other options apply: name, tags, vlan, internal, metadata; repeat for more",
      collect,
    )
    .action(async (key: string, options: SetOptions) => {
      if (options.tag?.some(hasSign) === true && !options.tag.every(hasSign)) {
        set.error("error: --tag: either all have a sign (+ or -), or none");
      }
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
  const mask = [...new Set([...Object.keys(valuesOf(options, undefined)), ...(options.clear ?? [])])];
  // An empty mask would mean "replace everything".
  if (mask.length === 0) return call("CreateUdm", { udm: { key } });
  const needsEntry = options.tag?.some(hasSign) === true || options.meta !== undefined;
  const update = async (): Promise<unknown> => {
    const before = needsEntry ? await findEntry(call, key) : undefined;
    return call("UpdateUdm", { udm: { key, ...valuesOf(options, before) }, update_mask: mask.join(",") });
  };
  try {
    return await update();
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error;
  }
  try {
    return await call("CreateUdm", { udm: { key, ...valuesOf(options, undefined) } });
  } catch (error) {
    if (!hasCode(error, "already_exists")) throw error;
    return update();
  }
}

async function findEntry(call: UdmCall, key: string): Promise<UdmJson | undefined> {
  const { udms = [] } = (await call("ListUdms", { key, exact: true })) as { udms?: UdmJson[] };
  return udms[0];
}

/** The fields that the options give, tags and metadata by what the entry has. */
function valuesOf(options: SetOptions, before: UdmJson | undefined): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const cleared = new Set(options.clear);
  if (options.name !== undefined) values["name"] = options.name;
  if (options.tag !== undefined) values["tags"] = changedTags(options.tag, cleared.has("tags") ? [] : before?.tags);
  if (options.vlan !== undefined) values["vlan"] = options.vlan;
  if (options.internal !== undefined) values["internal"] = options.internal === "true";
  if (options.meta !== undefined) {
    const metadata = new Map(Object.entries((cleared.has("metadata") ? undefined : before?.metadata) ?? {}));
    for (const [name, value] of options.meta) {
      if (value === undefined) metadata.delete(name);
      else metadata.set(name, value);
    }
    values["metadata"] = Object.fromEntries(metadata);
  }
  return values;
}

function changedTags(changes: readonly string[], before: readonly string[] = []): readonly string[] {
  if (!changes.every(hasSign)) return changes;
  const tags = new Set(before);
  for (const change of changes) {
    if (change.startsWith("+")) tags.add(change.slice(1));
    else tags.delete(change.slice(1));
  }
  return [...tags];
}

const hasSign = (tag: string): boolean => /^[+-]/.test(tag);

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

function metadataChange(
  text: string,
  previous: ReadonlyMap<string, string | undefined> = new Map(),
): ReadonlyMap<string, string | undefined> {
  const equals = text.indexOf("=");
  if (equals < 0 && /^-./.test(text)) return new Map([...previous, [text.slice(1), undefined]]);
  if (equals < 1) throw new InvalidArgumentError("expected key=value, or -key to remove one.");
  return new Map([...previous, [text.slice(0, equals), text.slice(equals + 1)]]);
}
