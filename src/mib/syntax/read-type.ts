import type { Range, TypeUse } from "./mib-module.ts";
import type { TokenReader } from "./token-reader.ts";

type Extras = Partial<Omit<TypeUse, "name" | "at">>;

/** `INTEGER { up(1) }`, `OCTET STRING (SIZE (0..255))`, `SEQUENCE OF IfEntry`, `Counter32`, `[APPLICATION 0] IMPLICIT …`. */
export function readType(reader: TokenReader): TypeUse {
  while (reader.is("[")) reader.skipBrackets("[", "]");
  reader.take("IMPLICIT");
  const { at } = reader.token;
  const use = (name: string, extras: Extras = {}): TypeUse => ({
    name,
    at,
    labels: undefined,
    ranges: undefined,
    sizes: undefined,
    rowType: undefined,
    ...extras,
  });
  if (reader.take("SEQUENCE", "OF")) return use("SEQUENCE OF", { rowType: reader.name("the type of a row").text });
  if (reader.is("SEQUENCE") || reader.is("CHOICE")) {
    const { text } = reader.next();
    reader.skipBrackets("{", "}");
    return use(text);
  }
  const name = readTypeName(reader);
  const labels = reader.is("{") ? readLabels(reader) : undefined;
  return use(name, { labels, ...(reader.is("(") ? readConstraint(reader) : {}) });
}

function readTypeName(reader: TokenReader): string {
  if (reader.take("OCTET", "STRING")) return "OCTET STRING";
  if (reader.take("OBJECT", "IDENTIFIER")) return "OBJECT IDENTIFIER";
  const { text } = reader.name("a type");
  // A type may be named with its module: `SNMPv2-TC.DisplayString`.
  return reader.take(".") ? reader.name("a type").text : text;
}

function readLabels(reader: TokenReader): [string, number][] {
  const labels: [string, number][] = [];
  reader.expect("{");
  while (!reader.is("}")) {
    // A label that looks like a number, such as 10baseT, is a fault that vendors make.
    const { kind, text } = reader.token;
    if (kind !== "name" && kind !== "number") throw reader.unexpected("a label");
    reader.next();
    // So is a hyphen at the end.
    const end = reader.take("-") ? "-" : "";
    reader.expect("(");
    labels.push([text + end, reader.number("the number of a label")]);
    reader.expect(")");
    if (!reader.take(",") && !reader.is("}")) throw reader.unexpected('"," or "}"');
  }
  reader.expect("}");
  return labels;
}

/** Bounds of numbers, or lengths. */
function readConstraint(reader: TokenReader): Extras {
  reader.expect("(");
  if (reader.take("SIZE")) {
    const sizes = readRanges(reader);
    reader.expect(")");
    return { sizes };
  }
  return { ranges: readRangesUpTo(reader) };
}

function readRanges(reader: TokenReader): Range[] {
  reader.expect("(");
  return readRangesUpTo(reader);
}

function readRangesUpTo(reader: TokenReader): Range[] {
  const ranges: Range[] = [];
  do {
    const low = reader.number("a number");
    ranges.push([low, reader.take("..") ? reader.number("a number") : low]);
  } while (reader.take("|"));
  reader.expect(")");
  return ranges;
}
