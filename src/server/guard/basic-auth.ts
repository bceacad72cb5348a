import { createHash, timingSafeEqual } from "node:crypto";

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** What `WWW-Authenticate` says to a client without the right credentials (RFC 7617). */
export const basicChallenge = 'Basic realm="netgloss", charset="UTF-8"';

/** The same for tokens (RFC 6750), to which no browser has a dialog. */
export const bearerChallenge = 'Bearer realm="netgloss"';

const basicForm = /^basic +(?! )([A-Za-z0-9+/_-]*={0,2}) *$/i;

/** Name and password of an `Authorization` header; undefined when it has another form. */
export function readBasic(authorization: string): { readonly name: string; readonly password: string } | undefined {
  const encoded = basicForm.exec(authorization)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * @returns a check of the `Authorization` header against one pair of credentials. How long it takes does not depend on
 * how much of them is right: digests are compared, not texts.
 */
export function createBasicAuth(credentials: BasicCredentials): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(`${credentials.username}:${credentials.password}`));
  return (authorization = "") => {
    const encoded = basicForm.exec(authorization)?.[1];
    return timingSafeEqual(digest(Buffer.from(encoded ?? "", "base64")), expected) && encoded !== undefined;
  };
}

function digest(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
