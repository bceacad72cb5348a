import { aThird, mapOf, minutes, optionOf, type SourceKind } from "./source-kind.ts";

/**
 * A plain list: an address, prefix or range on each line, as block lists are published. What comes after `#` or `;`, or after a
 * blank or comma, is not looked at. Each entry says the name of the list as `sec.threat.name`, or under `metadata_key`.
 */
export const list: SourceKind = {
  place: "either",
  options: ["threat", "metadata_key"],
  intervalMs: 60 * minutes,
  maxShrink: aThird,
  tokenScheme: "Bearer",
  map: mapOf([["key", "key"]], { rest: "metadata", duplicates: "first" }),
  async read({ config, reader }) {
    const bytes = await reader.document();
    if (bytes === undefined) return undefined;
    const column = optionOf(config, "metadata_key", ["sec.threat.name"])[0] ?? "";
    const threat = optionOf(config, "threat", [config.name])[0] ?? "";
    const rows = bytes
      .toString("utf8")
      .split(/\r?\n/)
      .flatMap((line) => {
        const text = line.replace(/[#;].*$/s, "").trim();
        if (text === "" || text.startsWith("//")) return [];
        const key = /^([^\s-]+)\s*-\s*(\S+)$/.exec(text.split(",")[0] ?? "");
        const written = key === null ? (text.split(/[\s,]/)[0] ?? "") : `${key[1]}-${key[2]}`;
        return [{ key: written, [`metadata:${column}`]: threat }];
      });
    return { rows };
  },
};
