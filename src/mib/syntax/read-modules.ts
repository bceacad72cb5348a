import { MibFault, type MibSource } from "../mib-fault.ts";
import type { Import, LeftOut, MibModule, NodeDefinition, TypeDefinition } from "./mib-module.ts";
import { readNode } from "./read-node.ts";
import { readType } from "./read-type.ts";
import type { Token } from "./tokens.ts";
import { TokenReader } from "./token-reader.ts";

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

/** Whether the next words begin an assignment, or end the module, whatever comes before them. */
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
