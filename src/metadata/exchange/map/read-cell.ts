import { isObject } from "../rows/json-rows.ts";

/** A cell that cannot be read as what its field needs; the message is the reason. */
export class CellFault extends Error {}

/** The texts of a cell: one, several of a list, or none. Numbers and booleans as JSON writes them. */
export function cellTexts(cell: unknown): readonly string[] {
  if (typeof cell === "string") return cell === "" ? [] : [cell];
  if (cell === undefined || cell === null) return [];
  if (Array.isArray(cell)) return cell.flatMap(cellTexts);
  if (typeof cell === "number" && Number.isInteger(cell) && !Number.isSafeInteger(cell)) {
    throw new CellFault(`the number ${cell} is not exact in JSON: write it as a text`);
  }
  if (typeof cell === "number" || typeof cell === "boolean") return [String(cell)];
  throw new CellFault("the value is an object: name one of its fields, as in tenant.name");
}

/** The value at a path of names (`tenant.name`) in an object. On its way through a list it is taken of each item. */
export function valueAt(values: unknown, path: readonly string[]): unknown {
  let at = values;
  for (let i = 0; i < path.length; i++) {
    if (Array.isArray(at)) return at.map((item) => valueAt(item, path.slice(i)));
    if (!isObject(at)) return undefined;
    const name = path[i] as string;
    if (!Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** The last whole number in a text; the text when it has none. */
export function lastNumber(text: string): string {
  const numbers = text.match(/\d+/g);
  return numbers === null ? text : (numbers[numbers.length - 1] as string).replace(/^0+(?=\d)/, "");
}

const trueTexts: ReadonlySet<string> = new Set(["true", "yes", "on", "y", "t", "1", "x"]);
const falseTexts: ReadonlySet<string> = new Set(["false", "no", "off", "n", "f", "0", ""]);

export function cellBool(text: string): boolean {
  const plain = text.toLowerCase();
  if (trueTexts.has(plain)) return true;
  if (falseTexts.has(plain)) return false;
  throw new CellFault("must be true or false, yes or no, 1 or 0");
}

export function cellVlan(text: string): bigint {
  if (text === "") return 0n;
  if (!/^\d{1,20}$/.test(text)) throw new CellFault("must be a whole number");
  return BigInt(text);
}

/** A prefix length (`24`, `/24`) of a length or a network mask (`255.255.255.0`). */
export function maskLength(text: string): string {
  const plain = text.startsWith("/") ? text.slice(1) : text;
  if (/^\d{1,3}$/.test(plain)) return plain;
  const parts = plain.split(".");
  if (parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) {
    const bits = parts.map((part) => Number(part).toString(2).padStart(8, "0")).join("");
    if (/^1*0*$/.test(bits)) return String(bits.lastIndexOf("1") + 1);
  }
  throw new CellFault("is neither a prefix length nor a network mask");
}

/** The parts of a text, with `\` before a separator that belongs to a part, and before itself. */
export function splitEscaped(text: string, separator: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && i + 1 < text.length) part += text[++i];
    else if (text.startsWith(separator, i)) {
      parts.push(part);
      part = "";
      i += separator.length - 1;
    } else part += text[i];
  }
  return [...parts, part];
}
