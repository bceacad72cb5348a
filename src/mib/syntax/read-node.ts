import type { IndexItem, NameUse, NodeDefinition, OidStep } from "./mib-module.ts";
import { readType } from "./read-type.ts";
import type { Token } from "./tokens.ts";
import type { TokenReader } from "./token-reader.ts";

type Clauses = { -readonly [K in keyof NodeDefinition]?: NodeDefinition[K] };

/** The rest of `name MACRO clauses ::= value`, from the macro's name on. */
export function readNode(reader: TokenReader, { text: name, at }: Token): NodeDefinition {
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

/** What a clause is followed by that says nothing here. */
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
