import { quote } from "../../src/base/text/index.ts";
import { MibFault, type MibSource } from "./mib-module.ts";
import { isSign, readTokens, type Token } from "./mib-module.ts";
import type {
  Range,
  TypeUse,
  IndexItem,
  NameUse,
  NodeDefinition,
  OidStep,
  Import,
  LeftOut,
  MibModule,
  TypeDefinition,
} from "./mib-module.ts";

/** Goes through the words of a text, one after the other. */
class TokenReader {
  readonly source: MibSource;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: MibSource) {
    this.source = source;
    this.#tokens = readTokens(source);
  }

  /** The number of words before the next one. */
  get position(): number {
    return this.#at;
  }

  set position(position: number) {
    this.#at = Math.min(position, this.#tokens.length - 1);
  }

  get token(): Token {
    return this.peek(0);
  }

  peek(ahead: number): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token;
  }

  next(): Token {
    const token = this.token;
    if (this.#at < this.#tokens.length - 1) this.#at++;
    return token;
  }

  is(text: string): boolean {
    const { token } = this;
    return token.text === text && token.kind !== "string" && token.kind !== "end";
  }

  /** Takes the words if they follow. */
  take(...texts: readonly string[]): boolean {
    if (!texts.every((text, i) => this.peek(i).text === text && this.peek(i).kind !== "string")) return false;
    this.#at += texts.length;
    return true;
  }

  expect(text: string): Token {
    if (!this.is(text)) throw this.unexpected(quote(text));
    return this.next();
  }

  name(what: string): Token {
    if (this.token.kind !== "name") throw this.unexpected(what);
    return this.next();
  }

  string(what: string): string {
    if (this.token.kind !== "string") throw this.unexpected(what);
    return this.next().text;
  }

  /** A number in any spelling; `MIN` and `MAX` are infinite. */
  number(what: string): number {
    const { kind, text } = this.next();
    if (kind === "number") return Number(text);
    if (kind === "bits") {
      const digits = text.slice(1, -2).replace(/\s/g, "");
      return digits === "" ? 0 : Number.parseInt(digits, /[Hh]$/.test(text) ? 16 : 2);
    }
    if (text === "MIN") return -Infinity;
    if (text === "MAX") return Infinity;
    this.#at--;
    throw this.unexpected(what);
  }

  /** Goes on behind the bracket that closes the one that is next. */
  skipBrackets(open: string, close: string): void {
    const start = this.expect(open);
    for (let depth = 1; depth > 0; this.next()) {
      if (this.token.kind === "end") throw this.fault(`${quote(open)} is not closed`, start.at);
      if (this.is(open)) depth++;
      else if (this.is(close)) depth--;
    }
  }

  unexpected(wanted: string): MibFault {
    const { token } = this;
    if (token.text === '"') return this.fault("a text that begins here has no end", token.at);
    if (token.kind === "sign" && !isSign(token.text)) {
      return this.fault(`unexpected character ${JSON.stringify(token.text)}`, token.at);
    }
    const found = token.kind === "end" ? token.text : token.kind === "string" ? "a text" : quote(token.text);
    return this.fault(`expected ${wanted}, found ${found}`, token.at);
  }

  fault(message: string, at: number): MibFault {
    return new MibFault(message, this.source, at);
  }
}

type Extras = Partial<Omit<TypeUse, "name" | "at">>;

/** `INTEGER { up(1) }`, `OCTET STRING (SIZE (0..255))`, `SEQUENCE OF IfEntry`, `Counter32`, `[APPLICATION 0] IMPLICIT …`. */
function readType(reader: TokenReader): TypeUse {
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

type Clauses = { -readonly [K in keyof NodeDefinition]?: NodeDefinition[K] };

/** The rest of `name MACRO clauses ::= value`, from the macro's name on. */
function readNode(reader: TokenReader, { text: name, at }: Token): NodeDefinition {
  const macro = reader.take("OBJECT", "IDENTIFIER") ? "OBJECT IDENTIFIER" : reader.name("a macro").text;
  const clauses: Clauses = {};
  while (!reader.take("::=")) readClause(reader, macro, clauses);
  const isOid = reader.is("{");
  const oid = isOid ? readOid(reader) : undefined;
  const trapNumber = isOid || macro !== "TRAP-TYPE" ? undefined : reader.number("the number of a trap");
  if (!isOid && trapNumber === undefined) reader.next();
  return { ...noClauses, ...clauses, name, at, macro, oid, trapNumber };
}

const noClauses = {
  type: undefined,
  access: undefined,
  status: undefined,
  units: undefined,
  description: undefined,
  index: undefined,
  augments: undefined,
  enterprise: undefined,
};

function readClause(reader: TokenReader, macro: string, clauses: Clauses): void {
  const { token } = reader;
  if (token.kind === "end") throw reader.unexpected('"::="');
  if (token.kind !== "name") return skipValue(reader);
  reader.next();
  switch (token.text) {
    case "SYNTAX":
      // Groups and compliances have types of other objects.
      if (macro === "OBJECT-TYPE") clauses.type = readType(reader);
      return;
    case "ACCESS":
    case "MAX-ACCESS":
      clauses.access ??= reader.name("an access").text;
      return;
    case "STATUS":
      clauses.status ??= reader.name("a status").text;
      return;
    case "UNITS":
      clauses.units = reader.string("the units as a text");
      return;
    case "DESCRIPTION":
      clauses.description ??= reader.string("the description as a text");
      return;
    case "INDEX":
      if (reader.is("{")) clauses.index = readIndex(reader);
      return;
    case "AUGMENTS":
      clauses.augments = readBracketedName(reader);
      return;
    case "ENTERPRISE":
      clauses.enterprise = reader.is("{") ? readBracketedName(reader) : nameUse(reader.name("an enterprise"));
      return;
    default:
  }
}

/** Skips the value of a clause that says nothing here. */
function skipValue(reader: TokenReader): void {
  if (reader.is("{")) reader.skipBrackets("{", "}");
  else if (reader.is("(")) reader.skipBrackets("(", ")");
  else reader.next();
}

const nameUse = ({ text, at }: Token): NameUse => ({ name: text, at });

function readBracketedName(reader: TokenReader): NameUse {
  reader.expect("{");
  const name = nameUse(reader.name("a name"));
  reader.expect("}");
  return name;
}

/** The objects of an index. SMIv1 allows types in their place, which say nothing of the instance. */
function readIndex(reader: TokenReader): IndexItem[] {
  const items: IndexItem[] = [];
  reader.expect("{");
  while (!reader.is("}")) {
    const isImplied = reader.take("IMPLIED");
    const { at } = reader.token;
    const { name } = readType(reader);
    items.push({ name, at, isImplied });
    if (!reader.take(",") && !reader.is("}")) throw reader.unexpected('"," or "}"');
  }
  reader.expect("}");
  return items;
}

function readOid(reader: TokenReader): OidStep[] {
  const steps: OidStep[] = [];
  reader.expect("{");
  while (!reader.is("}")) {
    const { kind, text, at } = reader.next();
    if (kind === "number") steps.push({ name: undefined, number: Number(text), at });
    else if (kind !== "name")
      throw reader.fault(`expected a name or number of an OID, found ${JSON.stringify(text)}`, at);
    else if (reader.take("(")) {
      steps.push({ name: text, number: reader.number("the number of the name"), at });
      reader.expect(")");
    } else {
      const name = reader.take(".") ? reader.name("a name").text : text;
      steps.push({ name, number: undefined, at });
    }
    reader.take(",");
  }
  const end = reader.expect("}");
  if (steps.length === 0) throw reader.fault("expected the steps of an OID", end.at);
  return steps;
}

/**
 * Reads all modules of a text, SMIv1 (RFC 1155, 1212, 1215) and SMIv2 (RFC 2578 to 2580). An assignment that cannot be read
 * is left out.
 *
 * @throws MibFault for a text that is no module, and for a module of which nothing can be read.
 */
export function readModules(source: MibSource): readonly MibModule[] {
  const reader = new TokenReader(source);
  const modules: MibModule[] = [];
  while (reader.token.kind !== "end") modules.push(readModule(reader));
  if (modules.length === 0) throw new MibFault("no MIB module: nothing in it says DEFINITIONS ::= BEGIN", source);
  return modules;
}

function readModule(reader: TokenReader): MibModule {
  const { text: name } = reader.name("the name of a module");
  if (reader.is("{")) reader.skipBrackets("{", "}");
  reader.expect("DEFINITIONS");
  while (!reader.is("::=")) {
    if (reader.token.kind !== "name") throw reader.unexpected('"::="');
    reader.next();
  }
  reader.expect("::=");
  reader.expect("BEGIN");
  const imports = new Map<string, Import>();
  const nodes = new Map<string, NodeDefinition>();
  const types = new Map<string, TypeDefinition>();
  const leftOut: LeftOut[] = [];
  let fault: MibFault | undefined;
  if (reader.take("EXPORTS")) while (!reader.take(";")) passUp(reader, "EXPORTS");
  if (reader.take("IMPORTS")) readImports(reader, imports);
  while (!reader.take("END")) {
    // An empty assignment is a semicolon too many.
    if (reader.take(";")) continue;
    const start = reader.token;
    const { position } = reader;
    try {
      reader.name('an assignment or "END"');
      if (reader.take("MACRO")) skipMacro(reader);
      else if (reader.is("::=")) types.set(start.text, readTypeAssignment(reader, start));
      else nodes.set(start.text, readNode(reader, start));
    } catch (error) {
      if (!(error instanceof MibFault)) throw error;
      fault ??= error;
      reader.position = position + 1;
      while (!isAssignment(reader)) {
        if (reader.token.kind === "end") throw fault;
        reader.next();
      }
      leftOut.push({ name: start.text, reason: error.message });
    }
  }
  if (fault !== undefined && nodes.size + types.size === 0) throw fault;
  return { name, source: reader.source, imports, nodes, types, leftOut };
}

const macros: ReadonlySet<string> = new Set(
  (
    "OBJECT-TYPE,OBJECT-IDENTITY,MODULE-IDENTITY,MODULE-COMPLIANCE,NOTIFICATION-TYPE,NOTIFICATION-GROUP,OBJECT-GROUP," +
    "TRAP-TYPE,AGENT-CAPABILITIES"
  ).split(","),
);

/** Tells whether the next words begin an assignment, or end the module, whatever comes before them. */
function isAssignment(reader: TokenReader): boolean {
  const { kind, text } = reader.token;
  const [second, third, fourth] = [reader.peek(1), reader.peek(2), reader.peek(3)];
  if (kind !== "name") return false;
  if (text === "END") return second.kind === "end" || third.text === "DEFINITIONS";
  if (second.kind === "name" && macros.has(second.text)) return true;
  if (second.text === "OBJECT" && third.text === "IDENTIFIER") return fourth.text === "::=";
  // A value follows lower-case words, too: those of clauses.
  return second.text === "::=" && /^[A-Z]/.test(text) && !/^(?:MACRO|IDENTIFIER)$/.test(text);
}

function passUp(reader: TokenReader, clause: string): void {
  if (reader.token.kind === "end") throw reader.unexpected(`";" at the end of ${clause}`);
  reader.next();
}

function readImports(reader: TokenReader, imports: Map<string, Import>): void {
  let pending: Token[] = [];
  while (!reader.take(";")) {
    if (reader.take("FROM")) {
      const { text, at } = reader.name("the name of a module");
      if (reader.is("{")) reader.skipBrackets("{", "}");
      const module = { name: text, at };
      for (const symbol of pending) imports.set(symbol.text, { name: symbol.text, at: symbol.at, module });
      pending = [];
    } else if (!reader.take(",")) {
      // An import list without its semicolon goes on with the first assignment.
      if (pending.length === 0 && startsAssignment(reader)) return;
      pending.push(reader.name('a name, "FROM" or ";"'));
    }
  }
  const [left] = pending;
  if (left !== undefined)
    throw reader.fault(`${left.text} is imported, but from which module? "FROM" is missing`, left.at);
}

function startsAssignment(reader: TokenReader): boolean {
  const [macro, second, third] = [reader.peek(1).text, reader.peek(2).text, reader.peek(3).text];
  return macro === "MODULE-IDENTITY" || (macro === "OBJECT" && second === "IDENTIFIER" && third === "::=");
}

function skipMacro(reader: TokenReader): void {
  while (!reader.take("END")) passUp(reader, "MACRO");
}

function readTypeAssignment(reader: TokenReader, { text: name, at }: Token): TypeDefinition {
  reader.expect("::=");
  if (!reader.take("TEXTUAL-CONVENTION")) {
    const type = readType(reader);
    const isStructure = type.name === "SEQUENCE" || type.name === "CHOICE";
    const described = { isTextualConvention: false, hint: undefined, description: undefined };
    return { name, at, ...described, type: isStructure ? undefined : type };
  }
  let hint: string | undefined;
  let description: string | undefined;
  while (!reader.take("SYNTAX")) {
    if (reader.token.kind === "end") throw reader.unexpected('"SYNTAX"');
    if (reader.take("DISPLAY-HINT")) hint = reader.string("the display hint as a text");
    else if (reader.take("DESCRIPTION")) description = reader.string("the description as a text");
    else reader.next();
  }
  return { name, at, isTextualConvention: true, hint, description, type: readType(reader) };
}
