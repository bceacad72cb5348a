import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type YamlNode,
  type YamlPair,
} from "../../base/yaml/index.ts";
import { isTokenName, parseTokenHash } from "./api-token.ts";
import { parsePasswordHash, type PasswordHash } from "./password-hash.ts";
import { areas, roles, type Area, type Role } from "./role.ts";

/** A user of the file. One without a password and a certificate cannot sign in. */
export interface AccessUser {
  readonly name: string;
  readonly role: Role;
  readonly password?: PasswordHash;
  /** Parts of a certificate's subject, all of which it must have: `CN=alice,O=Example`. */
  readonly certificate?: readonly string[];
}

export interface AccessToken {
  readonly name: string;
  readonly role: Role;
  /** Undefined: all. */
  readonly areas?: readonly Area[];
  readonly hash: Uint8Array;
  /** Milliseconds since the epoch; undefined: never. */
  readonly expires?: number;
}

export interface AccessList {
  readonly users: ReadonlyMap<string, AccessUser>;
  readonly tokens: ReadonlyMap<string, AccessToken>;
}

/** Thrown for a file of users that cannot be used: a line `file:line:column: …` for each fault. */
export class AccessFileError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "AccessFileError";
    this.faults = faults;
  }
}

/**
 * Reads a file of users and tokens; docs/access.md has an example.
 *
 * @throws AccessFileError with all faults.
 */
export function parseAccessFile(path: string, text: string): AccessList {
  const positionOf = createPositions(text);
  const faults: string[] = [];
  const fault = (node: YamlNode, why: string): undefined => {
    const { line, column } = positionOf(node.at);
    faults.push(`${path}:${line}:${column}: ${why}`);
  };
  const pairsOf = (node: YamlNode): readonly YamlPair[] => {
    if (node.kind === "mapping") return node.pairs;
    if (!isNullNode(node)) fault(node, "expected a mapping");
    return [];
  };
  const users = new Map<string, AccessUser>();
  const tokens = new Map<string, AccessToken>();
  const root = readRoot(path, text);
  for (const { key, value } of root === undefined ? [] : pairsOf(root)) {
    if (key.text === "users") {
      for (const pair of pairsOf(value)) {
        const user = readUser(pair.key.text, fieldsOf(pair, pairsOf, fault), pair.key, fault);
        if (user !== undefined) users.set(user.name, user);
      }
    } else if (key.text === "tokens") {
      for (const pair of pairsOf(value)) {
        const token = readToken(pair.key.text, fieldsOf(pair, pairsOf, fault), pair.key, fault);
        if (token !== undefined) tokens.set(token.name, token);
      }
    } else fault(key, `${key.text} is not known here: users, tokens`);
  }
  if (faults.length > 0) throw new AccessFileError(faults);
  return { users, tokens };
}

type Fault = (node: YamlNode, why: string) => undefined;
type Fields = ReadonlyMap<string, { readonly node: YamlNode; readonly texts: readonly string[] }>;

function readRoot(path: string, text: string): YamlNode | undefined {
  try {
    return readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new AccessFileError([`${path}:${error.position.line}:${error.position.column}: ${error.message}`]);
  }
}

function fieldsOf({ value }: YamlPair, pairsOf: (node: YamlNode) => readonly YamlPair[], fault: Fault): Fields {
  const fields = pairsOf(value).flatMap((pair) => {
    const nodes = pair.value.kind === "sequence" ? pair.value.items : [pair.value];
    const texts = nodes.flatMap((node) => (node.kind === "scalar" ? [node.text] : []));
    if (texts.length < nodes.length) fault(pair.value, `${pair.key.text} must be a text`);
    return [[pair.key.text, { node: pair.key, texts }] as const];
  });
  return new Map(fields);
}

function readUser(name: string, fields: Fields, at: YamlNode, fault: Fault): AccessUser | undefined {
  checkNames(fields, ["role", "password", "certificate"], fault);
  if (name === "" || /[:\p{Cc}]/u.test(name)) return fault(at, "a user's name has no colon and is not empty");
  const role = readRole(fields, at, fault);
  const password = fields.get("password");
  const hash = password && parsePasswordHash(password.texts[0] ?? "");
  if (password !== undefined && hash === undefined) {
    return fault(password.node, "password must be a hash, as `netgloss user set` writes it");
  }
  const subject = fields
    .get("certificate")
    ?.texts[0]?.split(",")
    .map((part) => part.trim());
  const bad = subject?.find((part) => !/^[A-Za-z]+=./.test(part));
  if (bad !== undefined) return fault(at, `certificate must be like CN=alice,O=Example, not ${bad}`);
  if (role === undefined) return undefined;
  return { name, role, ...(hash !== undefined && { password: hash }), ...(subject && { certificate: subject }) };
}

function readToken(name: string, fields: Fields, at: YamlNode, fault: Fault): AccessToken | undefined {
  checkNames(fields, ["role", "areas", "hash", "expires"], fault);
  if (!isTokenName(name)) return fault(at, "a token's name has letters, digits, dots and dashes");
  const role = readRole(fields, at, fault);
  const hash = parseTokenHash(fields.get("hash")?.texts[0] ?? "");
  if (hash === undefined) return fault(at, `token ${name} needs a hash, as \`netgloss token create\` writes it`);
  const given = fields.get("areas");
  const unknown = given?.texts.find((text) => !areas.includes(text as Area));
  if (unknown !== undefined) return fault(at, `area ${unknown} is not known: ${areas.join(", ")}`);
  const end = fields.get("expires");
  const expires = end && Date.parse(end.texts[0] ?? "");
  if (expires !== undefined && Number.isNaN(expires))
    return fault(at, "expires must be a time such as 2027-01-31T00:00:00Z");
  if (role === undefined) return undefined;
  const limits = { ...(given && { areas: given.texts as readonly Area[] }), ...(expires !== undefined && { expires }) };
  return { name, role, hash, ...limits };
}

function readRole(fields: Fields, at: YamlNode, fault: Fault): Role | undefined {
  const given = fields.get("role");
  const role = roles.find((one) => one === given?.texts[0]);
  return role ?? fault(given?.node ?? at, `role must be one of ${roles.join(", ")}`);
}

function checkNames(fields: Fields, known: readonly string[], fault: Fault): void {
  for (const [name, { node }] of fields)
    if (!known.includes(name)) fault(node, `${name} is not known here: ${known.join(", ")}`);
}
