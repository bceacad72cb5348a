import { randomBytes, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/report/index.ts";
import { suffices, type Principal } from "./role.ts";

/**
 * A map from random keys to values that expire. When there are too many, the oldest is removed.
 *
 * @param lifetimeMs the milliseconds from adding a value to its end.
 */
export class ExpiringMap<Value> {
  readonly #lifetimeMs: number;
  readonly #maxSize: number;
  readonly #clock: Pick<Clock, "monotonic">;
  // All values have the same lifetime, so the first one is the oldest and expires first.
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

  /** Adds a value. @returns the key: 256 random bits, safe in a URL and in a cookie. */
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

  /** Removes a value. @returns the value; undefined for a key that is unknown or has expired. */
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
/** The most sessions of one user or token, so that repeated sign-ins displace nobody else. */
const maxSessionsOfOne = 100;

/** The means by which a session was begun. */
export type SessionProof = "password" | "token" | "issuer";

interface Session {
  principal: Principal;
  readonly proof: SessionProof;
  /** True where its cookie was set with TLS. Only such a cookie then proves the session. */
  readonly isSecure: boolean;
  /** Returns the principal that the proof of the session gives now; undefined where the proof is no longer valid. */
  readonly current: () => Principal | undefined;
  readonly csrfToken: string;
}

/**
 * The sessions of people in browsers. A session ends at its time, by {@link end}, and when its proof is no longer valid or gives a lower
 * role or other limits.
 *
 * Sessions are only in memory, so a restart ends all of them.
 */
export class Sessions {
  /** The lifetime of a session in milliseconds. */
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

  /** Begins a session of a principal. @returns its new key. */
  begin(principal: Principal, start: Pick<Session, "proof" | "isSecure" | "current">): string {
    const own = this.#keysOf(principal.name, start.proof);
    if (own.length >= maxSessionsOfOne) this.#sessions.take(own[0] as string);
    const session = { ...start, principal, csrfToken: randomBytes(32).toString("base64url") };
    const key = this.#sessions.add(session);
    this.#note(session, key, principal);
    return key;
  }

  /** Returns the principal of a session; undefined for a session that is unknown, has ended, or needs another kind of cookie. */
  principalOf(key: string, isSecure: boolean): Principal | undefined {
    const session = this.#sessions.get(key);
    return session?.isSecure === isSecure ? this.#current(key, session) : undefined;
  }

  /** Returns the current form of a principal; undefined where its session has ended. */
  current(principal: Principal): Principal | undefined {
    const [key, session] = this.#of(principal);
    return session && this.#current(key, session);
  }

  /** Returns the CSRF token that a page must send with changing requests, and the proof with which the session began. */
  tellPage(principal: Principal): { readonly csrfToken: string; readonly proof: SessionProof } | undefined {
    const [, session] = this.#of(principal);
    return session && { csrfToken: session.csrfToken, proof: session.proof };
  }

  /** Reports whether a text is the token against forgery of a principal's session. */
  isCsrfToken(principal: Principal, text: string | undefined): boolean {
    const [, session] = this.#of(principal);
    if (session === undefined || text === undefined) return false;
    const [expected, given] = [Buffer.from(session.csrfToken), Buffer.from(text)];
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  /** Ends a session. @returns its principal. */
  end(key: string): Principal | undefined {
    return this.#sessions.take(key)?.principal;
  }

  /** Ends all sessions of the user or token of a principal. @returns their number. */
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
