import { createTable, identifier, oidOf, type AgentRow, type AgentTable, type AgentValue } from "./agent-table.ts";

/**
 * Reads a walk in snmprec form: one `OID|tag|value` a line, the tag being that of BER in decimal, with `x` behind it when
 * the value is in hex. Of the variation modules, `numeric` (initial, rate a second, min, max, wrap) and `writecache`
 * (value) are known.
 */
export function parseSnmprec(text: string): AgentTable {
  const rows: AgentRow[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const parts = /^([\d.]+)\|(\d+)(x?)(?::(\w+))?\|(.*)$/.exec(line);
    if (parts === null) throw new Error(`line ${i + 1}: not a snmprec record`);
    const [, oid = "", tag, hex, variation, value = ""] = parts;
    rows.push({ oid: oidOf(oid), value: readValue(Number(tag), hex === "x", variation, value, i + 1) });
  }
  return createTable(rows);
}

function readValue(
  tag: number,
  isHex: boolean,
  variation: string | undefined,
  value: string,
  line: number,
): AgentValue {
  switch (variation) {
    case undefined:
      return constant(tag, isHex, value, line);
    case "writecache":
      return constant(tag, isHex, value.replace(/^value=/, ""), line);
    case "numeric":
      return numeric(tag, value, line);
    default:
      throw new Error(`line ${line}: variation ${variation} is not known`);
  }
}

function constant(tag: number, isHex: boolean, value: string, line: number): AgentValue {
  const bytes = (): Uint8Array => Buffer.from(value, isHex ? "hex" : "utf8");
  switch (tag) {
    case 2:
      return { type: "Integer32", value: Number(value) };
    case 4:
      return { type: "OctetString", value: bytes() };
    case 5:
      return { type: "Null", value: null };
    case 6:
      return identifier(value);
    case 64:
      // Dotted text, or the four octets as characters when these happen to be printable.
      if (!isHex && /^\d+(?:\.\d+){3}$/.test(value)) {
        return { type: "IpAddress", value: Uint8Array.from(value.split("."), Number) };
      }
      return { type: "IpAddress", value: bytes() };
    case 65:
      return { type: "Counter32", value: Number(value) };
    case 66:
      return { type: "Gauge32", value: Number(value) };
    case 67:
      return { type: "TimeTicks", value: Number(value) };
    case 68:
      return { type: "Opaque", value: bytes() };
    case 70:
      return { type: "Counter64", value: BigInt(value) };
    default:
      throw new Error(`line ${line}: tag ${tag} is not known`);
  }
}

function numeric(tag: number, text: string, line: number): AgentValue {
  const settings = new Map(text.split(",").map((part) => part.split("=") as [string, string]));
  const setting = (name: string, otherwise: number): number => Number(settings.get(name) ?? otherwise);
  const min = setting("min", 0);
  const max = setting("max", 2 ** 31 - 1);
  const start = setting("initial", min);
  const rate = setting("rate", 0);
  return (uptime) => {
    const span = max - min + 1;
    const value = min + (Math.floor(start + rate * uptime - min) % span);
    const made = constant(tag, false, String(value), line);
    if (typeof made === "function") throw new Error(`line ${line}: not a number`);
    return made;
  };
}
