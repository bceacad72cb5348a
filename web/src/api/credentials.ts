/**
 * What a person signed in with, for as long as the tab is open. Sessions of an issuer are a cookie instead, which scripts do not see. A password in
 * a cookie's place would need a session on the server, which a restart would end.
 */
export interface Credentials {
  /** Value of the header `authorization`. */
  readonly authorization: string;
  /** Undefined for a token. */
  readonly name: string | undefined;
}

const key = "netgloss.credentials";

export function readCredentials(): Credentials | undefined {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as Credentials);
  } catch {
    return undefined;
  }
}

export function keepCredentials(credentials: Credentials | undefined): void {
  if (credentials === undefined) sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, JSON.stringify(credentials));
}

export function byPassword(name: string, password: string): Credentials {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}`, name };
}

export function byToken(token: string): Credentials {
  return { authorization: `Bearer ${token.trim()}`, name: undefined };
}
