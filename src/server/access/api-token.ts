import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

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
export function parseTokenHash(text: string): Uint8Array | undefined {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(text) ?? [];
  return hex === undefined ? undefined : Buffer.from(hex, "hex");
}

export function isTokenSecret(secret: string, expected: Uint8Array): boolean {
  return timingSafeEqual(digest(secret), expected);
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
