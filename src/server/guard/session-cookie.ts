import type { SignIn } from "../access/oidc/sign-in.ts";
import type { Sessions } from "./authenticator.ts";

/** The path to which the issuer sends the browser back. */
export const callbackPath = "/login/callback";

/** The cookies of a browser that signs in. A site that is reached by TLS has names that no other host can set (`__Host-`). */
export interface SessionCookies {
  /** The name of the cookie of a session. */
  readonly sessionName: string;
  /** The key of a session in a `Cookie` header. */
  session(header: string | undefined): string | undefined;
  /** The state of a sign-in under way. */
  state(header: string | undefined): string | undefined;
  /** `Set-Cookie` that keeps a session, or a state; an empty one ends it. */
  keepSession(key: string): string;
  keepState(state: string): string;
}

/** A state is kept for as long as a person may take at the issuer, seconds. */
const stateSeconds = 600;

export function createSessionCookies({ redirectUrl, sessionMs }: SignIn): SessionCookies {
  // As the browser sees it: a proxy in front may be what ends TLS.
  const isSecure = new URL(redirectUrl).protocol === "https:";
  const prefix = isSecure ? "__Host-" : "";
  const [sessionName, stateName] = [`${prefix}netgloss_session`, `${prefix}netgloss_login`];
  const keep = (name: string, value: string, seconds: number): string =>
    `${name}=${value}; Path=/; Max-Age=${value === "" ? 0 : seconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    sessionName,
    session: (header) => readCookie(header, sessionName),
    state: (header) => readCookie(header, stateName),
    keepSession: (key) => keep(sessionName, key, Math.floor(sessionMs / 1000)),
    keepState: (state) => keep(stateName, state, stateSeconds),
  };
}

/** Sessions by the `Cookie` header. */
export function createSessions(signIn: SignIn): Sessions {
  const cookies = createSessionCookies(signIn);
  return {
    byCookie(header) {
      const session = cookies.session(header);
      return session === undefined ? undefined : signIn.principalOf(session);
    },
    isSignedIn: (principal) => signIn.isSignedIn(principal),
  };
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const equals = pair.indexOf("=");
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}
