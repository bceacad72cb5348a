import {
  formatShapeFinding,
  mapOf,
  defaulted,
  oneOf,
  oneOrList,
  optional,
  readShape,
  record,
  required,
  scalar,
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

const userName = scalar("a name without a colon", (name) => (/[:\p{Cc}]/u.test(name) ? undefined : name));
const tokenName = scalar("a name of letters, digits, dots and dashes", (name) =>
  isTokenName(name) ? name : undefined,
);
/** What limits somebody must not be left out by a key without a value. */
const strict = { isStrict: true };
const hidden = { isHidden: true };

const user = record(
  {
    role: required(oneOf(roles), "What the user may do."),
    password: optional(
      scalar("a hash, as `netgloss user set` writes it", parsePasswordHash, hidden),
      "Left out: the user has no password.",
    ),
    certificate: optional(
      scalar("parts of a subject, such as CN=alice,O=Example", parseSubject),
      "What the subject of the user's certificate must have.",
    ),
  },
  strict,
);

const token = record(
  {
    role: required(oneOf(roles), "What may be done with it."),
    areas: optional(oneOrList(oneOf(areas)), "What it is for. Left out: all."),
    hash: required(
      scalar("a hash, as `netgloss token create` writes it", parseTokenHash, hidden),
      "SHA-256 of the token.",
    ),
    expires: optional(scalar("a time such as 2027-01-31T00:00:00Z", parseTime), "Left out: never."),
  },
  strict,
);

/** The file of users and tokens. */
export const accessShape = record({
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

/**
 * Reads a file of users and tokens; docs/access.md has an example.
 *
 * @throws AccessFileError with all faults.
 */
export function parseAccessFile(path: string, source: string): AccessList {
  const { value, findings } = readShape(source, accessShape);
  if (value === undefined)
    throw new AccessFileError(findings.map((finding) => `${path}:${formatShapeFinding(finding)}`));
  return value;
}
