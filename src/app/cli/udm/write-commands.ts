import { InvalidArgumentError, Option } from "commander";
import { addEntryOptions, clientOf } from "../client/client-options.ts";
import type { ApiClient } from "../client/api-call.ts";
import { CommandError, confirm } from "../terminal.ts";
import { type DefineCommand } from "../command.ts";
import { currentEntries } from "./entry-changes.ts";
import { callTools, searchUdms, callUdm, noEntries, type UdmJson } from "./udm-json.ts";
import { networkOfKey } from "../../../base/ip/index.ts";
import { parseStoredKey, type UdmContext } from "../../../metadata/index.ts";
import { collect } from "../command.ts";

interface DeleteOptions {
  readonly filter?: string;
  readonly ignoreMissing?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Defines `udm delete`. */
export const defineDelete: DefineCommand = (remove, { terminal }) => {
  addEntryOptions(remove)
    .option("--filter <udm-filter>", "such as 'tag = old'; shows the keys and asks")
    .option("--ignore-missing", "a key without an entry is no fault")
    .option("--dry-run", "only show which entries would be deleted")
    .option("-y, --yes", "do not ask")
    .action(async (keys: readonly string[], options: DeleteOptions) => {
      const { filter, ignoreMissing = false, dryRun = false, yes = false } = options;
      if ((filter === undefined) === (keys.length === 0))
        throw new CommandError("usage", "give either keys or --filter");
      const client = await clientOf(remove, terminal);
      const doomed = filter === undefined ? keys : await keysOf(client, filter);
      if (dryRun || filter !== undefined) {
        const shown = filter === undefined ? await existing(client, doomed, ignoreMissing) : doomed;
        terminal.out(shown.map((key) => `- ${key}\n`).join(""));
        if (dryRun || shown.length === 0) return;
        if (!yes) await confirm(`Delete ${shown.length} ${shown.length === 1 ? "entry" : "entries"}?`, terminal);
      }
      if (doomed.length === 1 && !ignoreMissing) await callUdm(client, "DeleteUdm", { key: doomed[0] });
      else await callTools(client, "BatchDeleteUdms", { keys: doomed, ignore_missing: ignoreMissing });
    });
};

async function keysOf(client: ApiClient, filter: string): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const entries of searchUdms(client, { filter })) keys.push(...entries.map(({ key }) => key));
  return keys;
}

async function existing(
  client: ApiClient,
  keys: readonly string[],
  ignoreMissing: boolean,
): Promise<readonly string[]> {
  const { canonicalKey } = await import("./entry-yaml.ts");
  const wanted = keys.map(canonicalKey);
  const found = await currentEntries(client, wanted);
  const missing = wanted.filter((key) => !found.has(key));
  if (missing.length > 0 && !ignoreMissing) throw noEntries(missing);
  return [...found.keys()];
}

/** Returns a line about the network that a key with host bits covers; empty for other keys. */
export function hostBitsWarning(key: string): string {
  const network = networkOfKey(parseStoredKey(key));
  return network === undefined ? "" : `warning: ${key} has host bits: it covers all of ${network}\n`;
}

const contexts = ["exporter", "endpoint"] as const satisfies readonly UdmContext[];

const clearable: readonly string[] = ["name", "tags", "vlan", "internal", "metadata", "contexts"];

interface SetOptions {
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly vlan?: string;
  readonly internal?: string;
  /** Values by key; undefined for a key that is to be removed. */
  readonly meta?: ReadonlyMap<string, string | undefined>;
  readonly context?: readonly string[];
  readonly clear?: readonly string[];
}

/** Defines `udm set`: creates an entry, or changes single fields, tags and values of one. */
export const defineSet: DefineCommand = (set, { terminal }) => {
  addEntryOptions(set)
    .option("--name <name>", "its name")
    .option(
      "--tag <tag>",
      "+tag adds a tag, -tag removes one; tags without a sign replace all; repeat for more",
      collect,
    )
    .option("--vlan <number>", "its VLAN", vlanNumber)
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
    .addOption(
      new Option("--context <context>", "where it applies, endpoints being sources and destinations; repeat for both")
        .choices(contexts)
        .argParser(contextName),
    )
    .option(
      "--clear <field>",
      `clear this field before the other options apply: ${clearable.join(", ")}; repeat for more`,
      clearedField,
    )
    .action(async (key: string, options: SetOptions) => {
      if (options.tag?.some(hasSign) === true && !options.tag.every(hasSign)) {
        set.error("error: --tag: either all have a sign (+ or -), or none");
      }
      terminal.out(`${JSON.stringify(await setEntry(await clientOf(set, terminal), key, options))}\n`);
      terminal.err(hostBitsWarning(key));
    });
};

/** Changes the named fields, and creates the entry if it is missing. It uses one request, so no change of others is lost. */
async function setEntry(client: ApiClient, key: string, options: SetOptions): Promise<unknown> {
  const { tag = [], meta = new Map<string, string | undefined>(), clear = [] } = options;
  const values = valuesOf(options);
  const mask = [...new Set([...Object.keys(values), ...clear])];
  if (mask.length + tag.length + meta.size === 0) return callUdm(client, "CreateUdm", { udm: { key } });
  const without = (sign: string): string[] => tag.filter((one) => one.startsWith(sign)).map((one) => one.slice(1));
  const request = {
    udm: { key, ...values },
    add_tags: without("+"),
    remove_tags: without("-"),
    set_metadata: Object.fromEntries([...meta].filter(([, value]) => value !== undefined)),
    remove_metadata: [...meta].filter(([, value]) => value === undefined).map(([name]) => name),
  };
  const { udms } = (await callTools(client, "BatchUpsertUdms", {
    requests: [request],
    // An empty mask would mean all fields when nothing is added or removed individually.
    ...(mask.length > 0 && { update_mask: mask.join(",") }),
  }).catch((error: unknown) => {
    // Leave the index out: a user does not know of the single request.
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.code, error.message.replaceAll(/requests\[0\]\.(?:udm\.)?/g, ""));
  })) as { udms: readonly UdmJson[] };
  return udms[0];
}

/** Returns the fields that the options replace. */
function valuesOf({ name, tag, vlan, internal, context }: SetOptions): Record<string, unknown> {
  return {
    ...(name !== undefined && { name }),
    ...(tag !== undefined && !tag.some(hasSign) && { tags: tag }),
    ...(vlan !== undefined && { vlan }),
    ...(internal !== undefined && { internal: internal === "true" }),
    ...(context !== undefined && { contexts: context }),
  };
}

function clearedField(text: string, previous: readonly string[] = []): readonly string[] {
  if (!clearable.includes(text)) throw new InvalidArgumentError(`expected one of ${clearable.join(", ")}.`);
  return [...previous, text];
}

const hasSign = (tag: string): boolean => /^[+-]/.test(tag);

function vlanNumber(value: string): string {
  // Send the number as text, which is exact; the API checks the range.
  if (!/^[0-9]+$/.test(value)) throw new InvalidArgumentError("expected a number.");
  return value;
}

function contextName(text: string, previous: readonly string[] = []): readonly string[] {
  if (!(contexts as readonly string[]).includes(text)) {
    throw new InvalidArgumentError(`expected ${contexts.join(" or ")}.`);
  }
  return [...previous, text];
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
