import { InvalidArgumentError, Option } from "commander";

/** As in UdmScope of the schema. */
export type ReplaceScope = Readonly<Record<string, unknown>>;

/** `--replace`. */
export function replaceOption(): Option {
  return new Option(
    "--replace <scope>",
    "delete what is not in the file of this scope: all, a CIDR or range, tag=NAME, or metadata.NAME=VALUE",
  ).argParser(replaceScope);
}

function replaceScope(text: string): ReplaceScope {
  if (text === "all") return { all: true };
  const [, tag] = /^tag=(.+)$/s.exec(text) ?? [];
  if (tag !== undefined) return { tag };
  const [, name, value] = /^metadata\.([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined) return { metadata_name: name, metadata_value: value };
  if (/^[0-9a-fA-F:.]+[/-]/.test(text)) return { within: text };
  throw new InvalidArgumentError("expected all, a CIDR or range, tag=NAME, or metadata.NAME=VALUE.");
}
