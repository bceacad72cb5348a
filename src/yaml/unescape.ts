import { unsupported } from "./unsupported-yaml.ts";

/** What stands between double quotes, with the escapes that are common. @throws UnsupportedYaml for others. */
export function unescape(raw: string): string {
  return raw.replaceAll(
    /\\(?:(["\\nrt])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})|[^])/g,
    (...found) => {
      const [, short, two, four, eight] = found as (string | undefined)[];
      if (short !== undefined) return shortEscapes[short] ?? short;
      const hex = two ?? four ?? eight;
      if (hex === undefined) return unsupported();
      const point = Number.parseInt(hex, 16);
      if (point >= 0xd800 && point <= 0xdfff) unsupported();
      return String.fromCodePoint(point);
    },
  );
}

const shortEscapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
