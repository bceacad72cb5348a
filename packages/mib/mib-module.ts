import { positionAt } from "../../src/base/yaml/index.ts";

/** A text of MIB modules and the file that it is from. */
export interface MibSource {
  readonly file: string;
  readonly text: string;
}

/** Thrown for a MIB module that cannot be used. The message starts with `file:line:column`. */
export class MibFault extends Error {
  readonly code = "bad_mib";

  /** `at` is the offset in the text of the source; undefined where the whole file is meant. */
  constructor(message: string, source?: MibSource, at?: number) {
    super(source === undefined ? message : `${placeOf(source, at)}: ${message}`);
    this.name = "MibFault";
  }
}

/** `file:line:column`, both counted from 1. */
export function placeOf({ file, text }: MibSource, at: number | undefined): string {
  if (at === undefined) return file;
  const { line, column } = positionAt(text, at);
  return `${file}:${line}:${column}`;
}

/** A word of a module. The text of a string is without its quotes, that of `'0F'H` as written. */
export interface Token {
  readonly kind: "name" | "number" | "string" | "bits" | "sign" | "end";
  readonly text: string;
  /** Offset in the source. */
  readonly at: number;
}

/** Names with an underscore, or a digit at the beginning, are faults that vendors make. */
const word =
  /(?<blank>[\s\p{Cc}]+)|(?<comment>--[^\r\n]*)|(?<string>"[^"]*")|(?<bits>'[0-9A-Fa-f\s]*'[HhBb])|(?<number>-?\d+(?![\w-]))|(?<name>\w(?:-?\w)*)|(?<sign>::=|\.\.\.?|[{}()[\],;|.<>:@*-])/uy;

/** The words of a text, the last of kind `end`. A character that SMI does not have is a sign that belongs nowhere. */
export function readTokens(source: MibSource): readonly Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  const pattern = new RegExp(word);
  let at = 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) {
      tokens.push({ kind: "sign", text: text[at] ?? "", at: at++ });
      continue;
    }
    const { blank, comment, string, bits, number, name, sign } = groups;
    if (comment !== undefined) at += commentLength(comment);
    else if (blank !== undefined) at += blank.length;
    else {
      const found = string ?? bits ?? number ?? name ?? sign ?? "";
      const kind = string !== undefined ? "string" : bits !== undefined ? "bits" : kindOf(number, name);
      tokens.push({ kind, text: kind === "string" ? found.slice(1, -1) : found, at });
      at += found.length;
    }
  }
  tokens.push({ kind: "end", text: "the end of the file", at: text.length });
  return tokens;
}

/** Tells whether the language has this sign. */
export function isSign(text: string): boolean {
  return /^(?:::=|\.\.\.?|[{}()[\],;|.<>:@*-])$/.test(text);
}

function kindOf(number: string | undefined, name: string | undefined): Token["kind"] {
  if (number !== undefined) return "number";
  return name === undefined ? "sign" : "name";
}

/**
 * Returns how much of a line is comment. It ends at the next `--` (ITU-T X.680) where something of the language follows;
 * rulers of hyphens and prose with dashes are comments up to the end of the line.
 */
function commentLength(line: string): number {
  const end =
    /^--[^-].*?--(?=\s*(?:[{}(),;|]|::=|[A-Za-z][\w-]*\s*::=|[A-Z][A-Z-]+\b(?![ ]+[a-z])|[a-z]\w*\s*\())/.exec(line);
  return end === null ? line.length : end[0].length;
}

/** A name where it is used. */
export interface NameUse {
  readonly name: string;
  readonly at: number;
}

/** A step of an OID value: a name, a number, or both (`org(3)`). */
export interface OidStep {
  readonly name: string | undefined;
  readonly number: number | undefined;
  readonly at: number;
}

/** Bounds as written; `MIN` and `MAX` are infinite. */
export type Range = readonly [low: number, high: number];

/** A type where it is used. */
export interface TypeUse extends NameUse {
  /** Named numbers of an INTEGER, named bits of BITS. */
  readonly labels: readonly (readonly [label: string, number: number])[] | undefined;
  readonly ranges: readonly Range[] | undefined;
  /** Lengths of octets. */
  readonly sizes: readonly Range[] | undefined;
  /** The name of the row's type in `SEQUENCE OF`. */
  readonly rowType: string | undefined;
}

export interface IndexItem extends NameUse {
  readonly isImplied: boolean;
}

/** An assignment of a value: what it is, and where in the tree. */
export interface NodeDefinition extends NameUse {
  readonly macro: string;
  /** Undefined for macros whose value is no OID. */
  readonly oid: readonly OidStep[] | undefined;
  readonly type: TypeUse | undefined;
  readonly access: string | undefined;
  readonly status: string | undefined;
  readonly units: string | undefined;
  readonly description: string | undefined;
  readonly index: readonly IndexItem[] | undefined;
  readonly augments: NameUse | undefined;
  /** The enterprise of a TRAP-TYPE. */
  readonly enterprise: NameUse | undefined;
  /** The number of a TRAP-TYPE. */
  readonly trapNumber: number | undefined;
}

/** An assignment of a type: a textual convention, or another name of a type. */
export interface TypeDefinition extends NameUse {
  readonly isTextualConvention: boolean;
  readonly hint: string | undefined;
  readonly description: string | undefined;
  /** Undefined for SEQUENCE and CHOICE. */
  readonly type: TypeUse | undefined;
}

export interface Import extends NameUse {
  readonly module: NameUse;
}

/** A definition that cannot be used. */
export interface LeftOut {
  readonly name: string;
  /** Names the fault and its position. */
  readonly reason: string;
}

/** A module as it is written; nothing in it is looked up yet. */
export interface MibModule {
  readonly name: string;
  readonly source: MibSource;
  /** By the name that is imported. */
  readonly imports: ReadonlyMap<string, Import>;
  readonly nodes: ReadonlyMap<string, NodeDefinition>;
  readonly types: ReadonlyMap<string, TypeDefinition>;
  /** Assignments that cannot be read. */
  readonly leftOut: readonly LeftOut[];
}
