import { createHash, randomBytes, timingSafeEqual, scrypt } from "node:crypto";
import { promisify } from "node:util";
import {
  createPositions,
  isNullNode,
  readYaml,
  YamlFault,
  type YamlNode,
  type YamlPair,
  stringScalar,
} from "../../base/yaml/index.ts";
import { areas, roles, type Area, type Role } from "./role.ts";

/** Its secret has 256 bits, so that a plain hash of it is as good as a slow one. */
const secretBytes = 32;
const form = /^ngt_([A-Za-z0-9._-]{1,64})_([A-Za-z0-9_-]{43})$/;
const nameForm = /^[A-Za-z0-9.-]{1,64}$/;

/** What may be the name of a token: no underscore, which ends it in the token. */
export function isTokenName(name: string): boolean {
  return nameForm.test(name);
}

/** A new token `ngt_<name>_<secret>`, and its hash for the file. */
export function createToken(name: string): { readonly token: string; readonly hash: string } {
  const secret = randomBytes(secretBytes).toString("base64url");
  return { token: `ngt_${name}_${secret}`, hash: `sha256:${digest(secret).toString("hex")}` };
}

/** Name and secret of a token; undefined for another text. */
export function parseToken(text: string): { readonly name: string; readonly secret: string } | undefined {
  const [, name, secret] = form.exec(text) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}

/** The hash of a file as bytes; undefined for another text. */
function parseTokenHash(text: string): Uint8Array | undefined {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(text) ?? [];
  return hex === undefined ? undefined : Buffer.from(hex, "hex");
}

export function isTokenSecret(secret: string, expected: Uint8Array): boolean {
  return timingSafeEqual(digest(secret), expected);
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Cost 2^15, 32 MiB of memory: some 0.1 s of a core. */
const cost = { ln: 15, r: 8, p: 1 };
/** What a file may ask for: 2^17 with r = 8 takes 128 MiB. */
const maxMemory = 2 ** 27;
const hashLength = 32;

/** A hash of scrypt (RFC 7914) with what it was made with. */
export interface PasswordHash {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

const derive = promisify<Buffer, Uint8Array, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
);

/** `$scrypt$ln=15,r=8,p=1$salt$hash`, the form of the PHC, in base64 without padding. Takes a thread of the pool, not the loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await hashWith(password, { ...cost, salt, hash: new Uint8Array(hashLength) });
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${text(salt)}$${text(hash)}`;
}

/** @returns undefined for a text of another form, or one that would take more than 128 MiB. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const found = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{22,86})$/.exec(
    text,
  );
  if (found === null) return undefined;
  const [ln, r, p] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (ln < 10 || r < 1 || p < 1 || p > 4 || 128 * 2 ** ln * r > maxMemory) return undefined;
  return { ln, r, p, salt: Buffer.from(found[4] ?? "", "base64"), hash: Buffer.from(found[5] ?? "", "base64") };
}

/** Compares in a time that does not depend on how much is right. */
export async function isPassword(password: string, expected: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await hashWith(password, expected), expected.hash);
}

function hashWith(password: string, { ln, r, p, salt, hash }: PasswordHash): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 2 * maxMemory };
  return derive(Buffer.from(password.normalize("NFC")), salt, hash.length, options);
}

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

/** Which list of the file. */
export type AccessSection = "users" | "tokens";

/** A field's texts by its name; undefined takes the field out. */
export type AccessFields = Readonly<Record<string, string | readonly string[] | undefined>>;

const header = `# Users and API tokens of netgloss; docs/access.md describes this file. \`netgloss user\` and \`netgloss token\` write it: comments are lost.\n`;

/**
 * The text of a file of users with one user or token set or removed. Fields that are not given stay.
 *
 * @param fields undefined removes it.
 * @returns undefined when there is nothing to remove.
 * @throws AccessFileError when the file, or what would come out, has faults.
 */
export function editAccessFile(
  path: string,
  text: string,
  section: AccessSection,
  name: string,
  fields: AccessFields | undefined,
): string | undefined {
  parseAccessFile(path, text);
  const sections: Record<AccessSection, Map<string, AccessFields>> = { users: new Map(), tokens: new Map() };
  const root = readYaml(text);
  for (const { key, value } of root?.kind === "mapping" ? root.pairs : []) {
    for (const entry of value.kind === "mapping" ? value.pairs : []) {
      const pairs = entry.value.kind === "mapping" ? entry.value.pairs : [];
      const given = pairs.map((pair) => [pair.key.text, textsOf(pair.value)] as const);
      sections[key.text as AccessSection].set(entry.key.text, Object.fromEntries(given));
    }
  }
  const list = sections[section];
  if (fields === undefined) {
    if (!list.delete(name)) return undefined;
  } else list.set(name, { ...list.get(name), ...fields });
  const fresh = header + renderSection("users", sections.users) + renderSection("tokens", sections.tokens);
  parseAccessFile(path, fresh);
  return fresh;
}

function textsOf(node: YamlNode): string | readonly string[] {
  if (node.kind === "scalar") return node.text;
  return node.kind === "sequence" ? node.items.map((item) => (item.kind === "scalar" ? item.text : "")) : "";
}

function renderSection(name: AccessSection, entries: ReadonlyMap<string, AccessFields>): string {
  if (entries.size === 0) return "";
  const blocks = Array.from(entries, ([entry, fields]) => {
    const lines = Object.entries(fields).flatMap(([field, value]) => {
      if (value === undefined) return [];
      const shown = typeof value === "string" ? stringScalar(value) : `[${value.map(stringScalar).join(", ")}]`;
      return [`    ${field}: ${shown}\n`];
    });
    return `  ${stringScalar(entry)}:\n${lines.join("")}`;
  });
  return `${name}:\n${blocks.join("")}`;
}
