import { createHmac, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/report/index.ts";
import {
  type AccessList,
  type AccessToken,
  type AccessUser,
  isTokenSecret,
  parseToken,
  isPassword,
  parsePasswordHash,
  type PasswordHash,
} from "./access-file.ts";
import type { Principal } from "./role.ts";

/** The most passwords that are hashed at a time, and the most that wait. */
const maxRunning = 2;
const maxWaiting = 32;
/** The milliseconds for which a correct password need not be hashed again, and the most that are remembered. */
const rememberedMs = 600_000;
const maxRemembered = 1_000;

type Found = Principal | undefined | "blocked" | "busy";

/** A hash of the usual cost that matches no password. */
const noPassword = parsePasswordHash(`$scrypt$ln=15,r=8,p=1$${"A".repeat(22)}$${"A".repeat(43)}`);

const costOf = ({ ln, r, p }: PasswordHash): string => `${ln},${r},${p}`;

/** Returns a hash that matches no password for each cost in the file, or of the usual cost where the file has no hashes. */
function hashesOfNobody({ users }: AccessList): ReadonlyMap<string, PasswordHash> {
  const given = [...users.values()].flatMap(({ password }) => password ?? []);
  const hashes = given.length > 0 || noPassword === undefined ? given : [noPassword];
  return new Map(hashes.map((of) => [costOf(of), { ...of, hash: new Uint8Array(of.hash.length) }]));
}

/** Checks a password. It hashes once at each cost of the file, so that the time does not reveal known names. */
async function isPasswordOf(
  user: AccessUser | undefined,
  password: string,
  nobody: ReadonlyMap<string, PasswordHash>,
): Promise<boolean> {
  const own = user?.password;
  let isRight = false;
  for (const [cost, other] of nobody) {
    const isOwn = own !== undefined && costOf(own) === cost;
    const isEqual = await isPassword(password, isOwn ? own : other);
    isRight ||= isOwn && isEqual;
  }
  return isRight;
}

/** The known users and tokens, by their means of authentication. */
export class Identities {
  readonly #clock: Clock;
  #list: AccessList = { users: new Map(), tokens: new Map() };
  #nobody = hashesOfNobody(this.#list);
  // A random key keeps the cache from revealing passwords to someone who reads memory later.
  readonly #key = randomBytes(32);
  #remembered = new Map<string, { readonly user: AccessUser; readonly until: number }>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** The user or token of the file that proved each principal. */
  readonly #proofs = new WeakMap<Principal, AccessUser | AccessToken>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces all users and tokens. */
  replace(fresh: AccessList): void {
    this.#list = fresh;
    this.#nobody = hashesOfNobody(fresh);
    this.#remembered = new Map();
  }

  /** Reports whether nobody can sign in. */
  isEmpty(): boolean {
    return this.#list.users.size === 0 && this.#list.tokens.size === 0;
  }

  /**
   * Finds the user with this password: at once if it was right a short time ago, otherwise after about 0.1 s of another thread.
   *
   * @param mayHash is asked before a password is hashed.
   * @returns the user; `blocked` where hashing is not allowed, `busy` where too many wait for it.
   */
  byPassword(name: string, password: string, mayHash: () => boolean): Found | Promise<Found> {
    const sign = createHmac("sha256", this.#key).update(`${name}\0${password}`).digest("base64");
    const known = this.#remembered.get(sign);
    if (known !== undefined && known.until > this.#clock.monotonic()) return this.#principalOf(known.user);
    this.#remembered.delete(sign);
    return mayHash() ? this.#hashed(sign, name, password) : "blocked";
  }

  byToken(text: string): Principal | undefined {
    const given = parseToken(text);
    const token = given && this.#list.tokens.get(given.name);
    if (given === undefined || token === undefined || !isTokenSecret(given.secret, token.hash)) return undefined;
    return this.#principalOfToken(token);
  }

  /** Finds the user of a certificate. @param subject the parts of a verified certificate's subject, such as `CN=alice`. */
  byCertificate(subject: readonly string[]): Principal | undefined {
    for (const user of this.#list.users.values()) {
      if (user.certificate?.every((part) => subject.includes(part)) === true)
        return this.#principalOf(user, "certificate");
    }
    return undefined;
  }

  /**
   * Returns the current form of a principal that was found before, with the current role. Returns undefined where the proof is no longer
   * valid. A principal that was found elsewhere is returned unchanged.
   */
  current(principal: Principal): Principal | undefined {
    const proof = this.#proofs.get(principal);
    if (proof === undefined) return principal;
    const { name, by } = principal;
    if ("hash" in proof) {
      const token = this.#list.tokens.get(name);
      return token && isDeepStrictEqual(token.hash, proof.hash) ? this.#principalOfToken(token) : undefined;
    }
    const user = this.#list.users.get(name);
    const isProven =
      by === "certificate"
        ? user?.certificate !== undefined && isDeepStrictEqual(user.certificate, proof.certificate)
        : user?.password !== undefined && isDeepStrictEqual(user.password, proof.password);
    return user && isProven ? this.#principalOf(user, by === "certificate" ? by : "basic") : undefined;
  }

  #found(principal: Principal, proof: AccessUser | AccessToken): Principal {
    this.#proofs.set(principal, proof);
    return principal;
  }

  #principalOf(user: AccessUser, by: "basic" | "certificate" = "basic"): Principal {
    const { name, role, scopes } = user;
    return this.#found({ name, role, ...(scopes && { scopes }), by }, user);
  }

  #principalOfToken(token: AccessToken): Principal | undefined {
    if (token.expires !== undefined && token.expires <= this.#clock.now()) return undefined;
    const { name, role, areas, scopes } = token;
    return this.#found({ name, role, ...(areas && { areas }), ...(scopes && { scopes }), by: "token" }, token);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T | "busy"> {
    if (this.#running >= maxRunning) {
      if (this.#waiting.length >= maxWaiting) return "busy";
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #hashed(sign: string, name: string, password: string): Promise<Found> {
    const before = this.#list;
    const user = before.users.get(name);
    const others = this.#nobody;
    const isRight = await this.#inTurn(() => isPasswordOf(user, password, others));
    if (isRight === "busy") return "busy";
    // The file may have changed meanwhile.
    if (!isRight || user?.password === undefined || this.#list !== before) return undefined;
    if (this.#remembered.size >= maxRemembered) this.#remembered = new Map();
    this.#remembered.set(sign, { user, until: this.#clock.monotonic() + rememberedMs });
    return this.#principalOf(user);
  }
}
