/** What a person proves with who they are. It goes to the collector once, for a session: a cookie that scripts do not see. Nothing of it is kept. */
export interface Credentials {
  /** Value of the header `authorization`. */
  readonly authorization: string;
}

export function byPassword(name: string, password: string): Credentials {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

export function byToken(token: string): Credentials {
  return { authorization: `Bearer ${token.trim()}` };
}

/** Why a proof cannot be sent; undefined: it can. A header takes other characters in part or not at all, and no token has them. */
export function unsendable({ authorization }: Credentials): string | undefined {
  return /^[\x20-\x7e]+$/.test(authorization) ? undefined : "a token has letters, digits and signs of ASCII alone";
}
