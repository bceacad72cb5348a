import { randomBytes, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/report/index.ts";
import { suffices, type Principal } from "./role.ts";

/**
 * Values by random keys, which end. When there are too many, the oldest goes.
 *
 * @param lifetimeMs from when a value was added on.
 */
export class ExpiringMap<Value> {
  readonly #lifetimeMs: number;
  readonly #maxSize: number;
  readonly #clock: Pick<Clock, "monotonic">;
  // All live equally long, so that the oldest is the first and the first to end.
  readonly #entries = new Map<string, { readonly value: Value; readonly ends: number }>();

  constructor(lifetimeMs: number, maxSize: number, clock: Pick<Clock, "monotonic">) {
    this.#lifetimeMs = lifetimeMs;
    this.#maxSize = maxSize;
    this.#clock = clock;
  }

  get size(): number {
    this.#dropEnded();
    return this.#entries.size;
  }

  /** @returns the key: 256 random bits, safe in a URL and in a cookie. */
  add(value: Value): string {
    this.#dropEnded();
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#maxSize && oldest !== undefined) this.#entries.delete(oldest);
    const key = randomBytes(32).toString("base64url");
    this.#entries.set(key, { value, ends: this.#clock.monotonic() + this.#lifetimeMs });
    return key;
  }

  get(key: string): Value | undefined {
    this.#dropEnded();
    return this.#entries.get(key)?.value;
  }

  /** Returns all, the oldest first. */
  *entries(): Generator<readonly [key: string, value: Value]> {
    this.#dropEnded();
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  /** Removes it. @returns what it was; undefined for a key that is not known or has ended. */
  take(key: string): Value | undefined {
    this.#dropEnded();
    const found = this.#entries.get(key);
    this.#entries.delete(key);
    return found?.value;
  }

  #dropEnded(): void {
    const now = this.#clock.monotonic();
    for (const [key, { ends }] of this.#entries) {
      if (ends > now) return;
      this.#entries.delete(key);
    }
  }
}

const maxSessions = 10_000;
/** Of one user or token: who signs in again and again pushes out nobody else. */
const maxSessionsOfOne = 100;

/** The means by which a session was begun. */
export type SessionProof = "password" | "token" | "issuer";

interface Session {
  principal: Principal;
  readonly proof: SessionProof;
  /** True if its cookie is one of TLS, which alone proves it then. */
  readonly isSecure: boolean;
  /** Returns who the proof of the session would prove now; undefined: it is good no more. */
  readonly current: () => Principal | undefined;
  readonly csrfToken: string;
}

/**
 * Sessions of people in browsers. A session ends with its time, by {@link end}, and when its proof is good no more, proves a lower
 * role, or other limits.
 *
 * Keeps all in memory: a restart ends every session.
 */
export class Sessions {
  /** How long a session lasts, milliseconds. */
  readonly lifetimeMs: number;
  readonly #sessions: ExpiringMap<Session>;
  /** The session of each principal. */
  readonly #keys = new WeakMap<Principal, string>();

  constructor(lifetimeMs: number, clock: Pick<Clock, "monotonic">) {
    this.lifetimeMs = lifetimeMs;
    this.#sessions = new ExpiringMap(lifetimeMs, maxSessions, clock);
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Begins a session of a principal. @returns its key, which nobody knew before. */
  begin(principal: Principal, start: Pick<Session, "proof" | "isSecure" | "current">): string {
    const own = this.#keysOf(principal.name, start.proof);
    if (own.length >= maxSessionsOfOne) this.#sessions.take(own[0] as string);
    const session = { ...start, principal, csrfToken: randomBytes(32).toString("base64url") };
    const key = this.#sessions.add(session);
    this.#note(session, key, principal);
    return key;
  }

  /** Returns whose session it is; undefined for one that is not known, has ended, or belongs to another kind of cookie. */
  principalOf(key: string, isSecure: boolean): Principal | undefined {
    const session = this.#sessions.get(key);
    return session?.isSecure === isSecure ? this.#current(key, session) : undefined;
  }

  /** Returns who a principal that was returned before is now; undefined when its session has ended. */
  current(principal: Principal): Principal | undefined {
    const [key, session] = this.#of(principal);
    return session && this.#current(key, session);
  }

  /** Returns what a page has to send with what changes something, and how its session began. */
  tellPage(principal: Principal): { readonly csrfToken: string; readonly proof: SessionProof } | undefined {
    const [, session] = this.#of(principal);
    return session && { csrfToken: session.csrfToken, proof: session.proof };
  }

  /** Tells whether a text is the token against forgery of a principal's session. */
  isCsrfToken(principal: Principal, text: string | undefined): boolean {
    const [, session] = this.#of(principal);
    if (session === undefined || text === undefined) return false;
    const [expected, given] = [Buffer.from(session.csrfToken), Buffer.from(text)];
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  /** Ends a session. @returns whose it was. */
  end(key: string): Principal | undefined {
    return this.#sessions.take(key)?.principal;
  }

  /** Ends all sessions of the user or token of a principal. @returns how many they were. */
  endAll(principal: Principal): number {
    const [, session] = this.#of(principal);
    const keys = session === undefined ? [] : this.#keysOf(principal.name, session.proof);
    for (const key of keys) this.#sessions.take(key);
    return keys.length;
  }

  #of(principal: Principal): [key: string, session: Session | undefined] {
    const key = this.#keys.get(principal) ?? "";
    return [key, this.#sessions.get(key)];
  }

  #keysOf(name: string, proof: SessionProof): readonly string[] {
    return [...this.#sessions.entries()].flatMap(([key, of]) =>
      of.principal.name === name && of.proof === proof ? [key] : [],
    );
  }

  #current(key: string, session: Session): Principal | undefined {
    const { principal } = session;
    const now = session.current();
    const hasLess =
      now === undefined ||
      !suffices(now.role, principal.role) ||
      !isDeepStrictEqual([now.areas, now.scopes], [principal.areas, principal.scopes]);
    if (hasLess) this.#sessions.take(key);
    else if (now.role === principal.role) return principal;
    else return this.#note(session, key, { ...principal, role: now.role });
    return undefined;
  }

  #note(session: Session, key: string, principal: Principal): Principal {
    session.principal = principal;
    this.#keys.set(principal, key);
    return principal;
  }
}
