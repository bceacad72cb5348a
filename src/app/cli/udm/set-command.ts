import { InvalidArgumentError, Option, type Command } from "commander";
import { networkOfKey, parseKey } from "../../../ip/index.ts";
import type { ApiClient } from "../client/api-call.ts";
import { hasCode } from "../command-error.ts";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { collect } from "../settings-options.ts";
import type { Terminal } from "../terminal.ts";
import { callUdm, findUdm, type UdmJson } from "./udm-json.ts";

interface SetOptions {
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly vlan?: string;
  readonly internal?: string;
  /** What is to be removed is undefined. */
  readonly meta?: ReadonlyMap<string, string | undefined>;
  readonly clear?: readonly string[];
}

/** `udm set`: creates an entry, or changes single fields, tags and values of one. */
export function addSetCommand(udm: Command, terminal: Terminal): void {
  const set = addClientOptions(udm.command("set <key>"))
    .description("create an entry, or change the given fields of an existing one")
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
      terminal.out(`${JSON.stringify(await setEntry(await clientOf(set, terminal), key, options))}\n`);
      const network = networkOfKey(parseKey(key));
      if (network !== undefined) terminal.err(`warning: ${key} has host bits: it covers all of ${network}\n`);
    });
}

/** Updates the named fields, or creates the entry. Another client may create or delete it meanwhile: one more try. */
async function setEntry(client: ApiClient, key: string, options: SetOptions): Promise<unknown> {
  const mask = [...new Set([...Object.keys(valuesOf(options, undefined)), ...(options.clear ?? [])])];
  // An empty mask would mean "replace everything".
  if (mask.length === 0) return callUdm(client, "CreateUdm", { udm: { key } });
  const needsEntry = options.tag?.some(hasSign) === true || options.meta !== undefined;
  const update = async (): Promise<unknown> => {
    const before = needsEntry ? await findUdm(client, key) : undefined;
    return callUdm(client, "UpdateUdm", { udm: { key, ...valuesOf(options, before) }, update_mask: mask.join(",") });
  };
  try {
    return await update();
  } catch (error) {
    if (!hasCode(error, "not_found")) throw error;
  }
  try {
    return await callUdm(client, "CreateUdm", { udm: { key, ...valuesOf(options, undefined) } });
  } catch (error) {
    if (!hasCode(error, "already_exists")) throw error;
    return update();
  }
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
