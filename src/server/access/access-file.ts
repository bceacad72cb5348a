import { createHash, randomBytes, timingSafeEqual, scrypt } from "node:crypto";
import { promisify } from "node:util";
import {
  defaulted,
  formatShapeFinding,
  mapOf,
  mergedPairs,
  oneOf,
  oneOrList,
  optional,
  readShape,
  readYaml,
  mapping,
  required,
  scalar,
  Shape,
  stringScalar,
  type FileNode,
  type ShapeValue,
  type YamlNode,
  type YamlPair,
} from "../../base/yaml/index.ts";
import { scopeName } from "../../metadata/index.ts";
import { areas, roles } from "./role.ts";

/** The bytes of a token's secret. With 256 bits, a plain hash is as safe as a slow one. */
const secretBytes = 32;
const form = /^ngt_([A-Za-z0-9._-]{1,64})_([A-Za-z0-9_-]{43})$/;
const nameForm = /^[A-Za-z0-9.-]{1,64}$/;

/** Reports whether a text may be the name of a token. It has no underscore, because an underscore ends the name in the token. */
export function isTokenName(name: string): boolean {
  return nameForm.test(name);
}

/** Returns a new token `ngt_<name>_<secret>`, and its hash for the file. */
export function createToken(name: string): { readonly token: string; readonly hash: string } {
  const secret = randomBytes(secretBytes).toString("base64url");
  return { token: `ngt_${name}_${secret}`, hash: `sha256:${digest(secret).toString("hex")}` };
}

/** Reads the name and secret of a token; returns undefined for any other text. */
export function parseToken(text: string): { readonly name: string; readonly secret: string } | undefined {
  const [, name, secret] = form.exec(text) ?? [];
  return name === undefined || secret === undefined ? undefined : { name, secret };
}

/** Reads the hash of a token as bytes; returns undefined for any other text. */
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

/** The cost of scrypt: 2^15 needs 32 MiB of memory and about 0.1 s of a core. */
const cost = { ln: 15, r: 8, p: 1 };
/** The most memory that a hash of the file may need. 2^17 with r = 8 needs 128 MiB. */
const maxMemory = 2 ** 27;
const hashLength = 32;

/** A scrypt hash (RFC 7914) with its parameters and salt. */
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

/** Returns `$scrypt$ln=15,r=8,p=1$salt$hash` in the PHC format, in base64 without padding. It runs in the thread pool. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await hashWith(password, { ...cost, salt, hash: new Uint8Array(hashLength) });
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${text(salt)}$${text(hash)}`;
}

/** Reads a password hash. @returns undefined for a text of another form, or one that would need more than 128 MiB. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const found = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{22,86})$/.exec(
    text,
  );
  if (found === null) return undefined;
  const [ln, r, p] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (ln < 10 || r < 1 || p < 1 || p > 4 || 128 * 2 ** ln * r > maxMemory) return undefined;
  return { ln, r, p, salt: Buffer.from(found[4] ?? "", "base64"), hash: Buffer.from(found[5] ?? "", "base64") };
}

/** Compares a password in a time that does not depend on how much of it is right. */
export async function isPassword(password: string, expected: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await hashWith(password, expected), expected.hash);
}

function hashWith(password: string, { ln, r, p, salt, hash }: PasswordHash): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 2 * maxMemory };
  return derive(Buffer.from(password.normalize("NFC")), salt, hash.length, options);
}

/** The error for an invalid file of users, with a line `file:line:column: …` for each fault. */
export class AccessFileError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "AccessFileError";
    this.faults = faults;
  }
}

const userName = scalar("a name without a colon", (name) => (/[:\p{Cc}]/u.test(name) ? undefined : name));
const tokenName = scalar("a name of letters, digits, dots and dashes", (name) =>
  isTokenName(name) ? name : undefined,
);
/** Returns a shape that also accepts a list with a single value. */
function single<T>(shape: Shape<T>): Shape<T> {
  const read = (at: FileNode): T | undefined =>
    shape.read(at.node.kind === "sequence" && at.children().length === 1 ? at.below(0) : at);
  return new Shape(shape.expected, read, shape.rows);
}

/** The option that refuses a key without a value, which could otherwise remove a user's limit. */
const strict = { isStrict: true };
const hidden = { isHidden: true };

const user = mapping(
  {
    role: required(single(oneOf(roles)), "What the user may do."),
    password: optional(
      single(scalar("a hash, as `netgloss user set` writes it", parsePasswordHash, hidden)),
      "Left out: the user has no password.",
    ),
    certificate: optional(
      single(scalar("parts of a subject, such as CN=alice,O=Example", parseSubject)),
      "What the subject of the user's certificate must have.",
    ),
    scopes: optional(oneOrList(scopeName), "The scopes that the user is limited to. Left out: the whole collector."),
  },
  strict,
);

const token = mapping(
  {
    role: required(single(oneOf(roles)), "What may be done with it."),
    areas: optional(oneOrList(oneOf(areas)), "What it is for. Left out: all."),
    scopes: optional(oneOrList(scopeName), "The scopes that it is limited to. Left out: the whole collector."),
    hash: required(
      single(scalar("a hash, as `netgloss token create` writes it", parseTokenHash, hidden)),
      "SHA-256 of the token.",
    ),
    expires: optional(single(scalar("a time such as 2027-01-31T00:00:00Z", parseTime)), "Left out: never."),
  },
  strict,
);

/** The file of users and tokens. */
export const accessShape = mapping({
  users: defaulted(mapOf(userName, user, { each: "user" }).to(named), new Map(), "Users by name."),
  tokens: defaulted(mapOf(tokenName, token, { each: "token" }).to(named), new Map(), "API tokens by name."),
});

function named<T>(values: ReadonlyMap<string, T>): Map<string, T & { readonly name: string }> {
  return new Map(Array.from(values, ([name, value]) => [name, { name, ...value }]));
}

function parseSubject(subject: string): readonly string[] | undefined {
  const parts = subject.split(",").map((part) => part.trim());
  return parts.every((part) => /^[A-Za-z]+=./.test(part)) ? parts : undefined;
}

function parseTime(time: string): number | undefined {
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** A user of the file. A user without password and certificate cannot sign in. */
export type AccessUser = ShapeValue<typeof user> & { readonly name: string };

export type AccessToken = ShapeValue<typeof token> & { readonly name: string };

export type AccessList = ShapeValue<typeof accessShape>;

/**
 * Reads a file of users and tokens; docs/access.md has an example.
 *
 * @throws AccessFileError with all faults.
 */
export function parseAccessFile(path: string, source: string): AccessList {
  const { value, findings, hasErrors } = readShape(source, accessShape);
  if (hasErrors || value === undefined)
    throw new AccessFileError(findings.map((finding) => `${path}:${formatShapeFinding(finding)}`));
  return value;
}

/** The name of a list of the file. */
export type AccessSection = "users" | "tokens";

/** The texts of fields by name. Undefined removes the field. */
export type AccessFields = Readonly<Record<string, string | readonly string[] | undefined>>;

const header = `# Users and API tokens of netgloss; docs/access.md describes this file. \`netgloss user\` and \`netgloss token\` write it: comments are lost.\n`;

/**
 * Returns the text of a file of users after setting or removing one user or token. Fields that are not given stay.
 *
 * @param fields the fields to set; undefined removes the user or token.
 * @returns the text; undefined where there is nothing to remove.
 * @throws AccessFileError when the file, or the result, has faults.
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
  for (const { key, value } of pairsIn(root)) {
    for (const entry of pairsIn(value)) {
      const given = pairsIn(entry.value).map((pair) => [pair.key.text, textsOf(pair.value)] as const);
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

function pairsIn(node: YamlNode | undefined): readonly YamlPair[] {
  const unreachable = (): never => {
    throw new Error("a merge that was read cannot fail");
  };
  return node?.kind === "mapping" ? mergedPairs(node, unreachable) : [];
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
