import type { Clock } from "../../report/index.ts";
import type { Principal } from "../role.ts";
import { claimedUser } from "./claimed-user.ts";
import { createExpiringMap } from "./expiring-map.ts";
import { createIssuer, type Challenge } from "./issuer.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { SignInError } from "./sign-in-error.ts";

/** How long a person may take at the issuer, milliseconds. */
const pendingMs = 600_000;
const maxPending = 10_000;
const maxSessions = 10_000;
/** Answers of browsers that are checked at the issuer at a time. */
const maxRunning = 32;

/** Sign-ins at an issuer, and the sessions that they give. */
export interface SignIn {
  /** Where the issuer sends the browser back to. */
  readonly redirectUrl: string;
  readonly sessionMs: number;
  /** How many sessions there are. */
  sessions(): number;
  /**
   * Begins a sign-in.
   *
   * @param target where the browser goes at the end, kept for {@link SignIn.finish}.
   * @returns where it goes now, and a state that it has to keep and bring again.
   * @throws SignInError
   */
  begin(target: string): Promise<{ readonly url: string; readonly state: string }>;
  /**
   * Ends a sign-in; a state is good for one.
   *
   * @param answer the query with which the issuer sent the browser back.
   * @param kept the state that the browser kept.
   * @returns with the key of a new session.
   * @throws SignInError
   */
  finish(
    answer: URLSearchParams,
    kept: string | undefined,
  ): Promise<{ readonly principal: Principal; readonly session: string; readonly target: string }>;
  /** Whose session it is; undefined for one that is not known or has ended. */
  principalOf(session: string): Principal | undefined;
  /** Whether a principal that was returned before still has its session. */
  isSignedIn(principal: Principal): boolean;
  /** Ends a session. @returns whose it was. */
  end(session: string): Principal | undefined;
}

/** Keeps all in memory: a restart ends every session. */
export function createSignIn(config: OidcConfig, clock: Pick<Clock, "monotonic">): SignIn {
  const { redirectUrl, sessionMs } = config;
  const issuer = createIssuer(config, clock);
  const pending = createExpiringMap<{ readonly challenge: Challenge; readonly target: string }>(
    { lifetimeMs: pendingMs, maxSize: maxPending },
    clock,
  );
  const sessions = createExpiringMap<Principal>({ lifetimeMs: sessionMs, maxSize: maxSessions }, clock);
  /** The session of each principal. */
  const keys = new WeakMap<Principal, string>();
  let running = 0;

  return {
    redirectUrl,
    sessionMs,
    sessions: () => sessions.size,
    async begin(target) {
      const challenge = await issuer.challenge();
      const state = pending.add({ challenge, target });
      try {
        return { url: await issuer.begin(state, challenge), state };
      } catch (error) {
        pending.take(state);
        throw error;
      }
    },
    async finish(answer, kept) {
      const state = answer.get("state");
      // A state that was begun in another browser stays usable there.
      const begun = state === null || state !== kept ? undefined : pending.take(state);
      if (state === null || begun === undefined) {
        throw new SignInError("refused", "this sign-in is over, or was begun in another browser: begin at /login");
      }
      if (running >= maxRunning) throw new SignInError("busy", "too many users sign in at a time: begin at /login");
      running++;
      try {
        const principal = claimedUser(await issuer.finish(answer, state, begun.challenge), config);
        const session = sessions.add(principal);
        keys.set(principal, session);
        return { principal, session, target: begun.target };
      } finally {
        running--;
      }
    },
    principalOf: (session) => sessions.get(session),
    isSignedIn: (principal) => sessions.get(keys.get(principal) ?? "") === principal,
    end: (session) => sessions.take(session),
  };
}
