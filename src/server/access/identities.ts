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

/** Passwords that are hashed at a time, and those that wait for it. */
const maxRunning = 2;
const maxWaiting = 32;
/** How long a password that was right need not be hashed again, milliseconds; and how many are remembered. */
const rememberedMs = 600_000;
const maxRemembered = 1_000;

/** Who is known, by what they prove it with. */
export interface Identities {
  /** Takes the place of all users and tokens. */
  replace(list: AccessList): void;
  /** Whether there is anybody who can sign in. */
  isEmpty(): boolean;
  /**
   * The user with this password: at once for one that was right a short time ago, else after some 0.1 s of another thread.
   *
   * @param mayHash asked before a password is hashed.
   * @returns `blocked` when it may not be, `busy` when too many wait for it.
   */
  byPassword(name: string, password: string, mayHash: () => boolean): Found | Promise<Found>;
  byToken(text: string): Principal | undefined;
  /** @param subject parts of a subject whose certificate was verified: `CN=alice`. */
  byCertificate(subject: readonly string[]): Principal | undefined;
  /**
   * Who a principal that was found before is now: with the role of now, or undefined when what proved it would prove it no more. One that
   * was found elsewhere is returned as it is.
   */
  current(principal: Principal): Principal | undefined;
}

type Found = Principal | undefined | "blocked" | "busy";

/** A hash of the usual cost, of no password. */
const noPassword = parsePasswordHash(`$scrypt$ln=15,r=8,p=1$${"A".repeat(22)}$${"A".repeat(43)}`);

const costOf = ({ ln, r, p }: PasswordHash): string => `${ln},${r},${p}`;

/** Returns a hash of no password for each cost that hashes of the file have; of the usual one where it has none. */
function hashesOfNobody({ users }: AccessList): ReadonlyMap<string, PasswordHash> {
  const given = [...users.values()].flatMap(({ password }) => password ?? []);
  const hashes = given.length > 0 || noPassword === undefined ? given : [noPassword];
  return new Map(hashes.map((of) => [costOf(of), { ...of, hash: new Uint8Array(of.hash.length) }]));
}

/** Hashes once at each cost of the file, whoever signs in: how long it takes does not tell whose names are known. */
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

export function createIdentities(clock: Clock): Identities {
  let list: AccessList = { users: new Map(), tokens: new Map() };
  let nobody = hashesOfNobody(list);
  // A key that nobody knows: what is remembered says nothing of a password to who reads memory later.
  const key = randomBytes(32);
  let remembered = new Map<string, { readonly user: AccessUser; readonly until: number }>();
  let running = 0;
  const waiting: (() => void)[] = [];
  /** What of the file proved each principal. */
  const proofs = new WeakMap<Principal, AccessUser | AccessToken>();

  const found = (principal: Principal, proof: AccessUser | AccessToken): Principal => {
    proofs.set(principal, proof);
    return principal;
  };

  const principalOf = (user: AccessUser, by: "basic" | "certificate" = "basic"): Principal =>
    found({ name: user.name, role: user.role, by }, user);

  const principalOfToken = (token: AccessToken): Principal | undefined => {
    if (token.expires !== undefined && token.expires <= clock.now()) return undefined;
    const { name, role, areas } = token;
    return found({ name, role, ...(areas && { areas }), by: "token" }, token);
  };

  const inTurn = async <T>(work: () => Promise<T>): Promise<T | "busy"> => {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting) return "busy";
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };

  const hashed = async (sign: string, name: string, password: string): Promise<Found> => {
    const before = list;
    const user = before.users.get(name);
    const others = nobody;
    const isRight = await inTurn(() => isPasswordOf(user, password, others));
    if (isRight === "busy") return "busy";
    // The file may have changed meanwhile.
    if (!isRight || user?.password === undefined || list !== before) return undefined;
    if (remembered.size >= maxRemembered) remembered = new Map();
    remembered.set(sign, { user, until: clock.monotonic() + rememberedMs });
    return principalOf(user);
  };

  return {
    replace(fresh) {
      list = fresh;
      nobody = hashesOfNobody(fresh);
      remembered = new Map();
    },
    isEmpty: () => list.users.size === 0 && list.tokens.size === 0,
    byPassword(name, password, mayHash) {
      const sign = createHmac("sha256", key).update(`${name}\0${password}`).digest("base64");
      const known = remembered.get(sign);
      if (known !== undefined && known.until > clock.monotonic()) return principalOf(known.user);
      remembered.delete(sign);
      return mayHash() ? hashed(sign, name, password) : "blocked";
    },
    byToken(text) {
      const given = parseToken(text);
      const token = given && list.tokens.get(given.name);
      if (given === undefined || token === undefined || !isTokenSecret(given.secret, token.hash)) return undefined;
      return principalOfToken(token);
    },
    byCertificate(subject) {
      for (const user of list.users.values()) {
        if (user.certificate?.every((part) => subject.includes(part)) === true) return principalOf(user, "certificate");
      }
      return undefined;
    },
    current(principal) {
      const proof = proofs.get(principal);
      if (proof === undefined) return principal;
      const { name, by } = principal;
      if ("hash" in proof) {
        const token = list.tokens.get(name);
        return token && isDeepStrictEqual(token.hash, proof.hash) ? principalOfToken(token) : undefined;
      }
      const user = list.users.get(name);
      const isProven =
        by === "certificate"
          ? user?.certificate !== undefined && isDeepStrictEqual(user.certificate, proof.certificate)
          : user?.password !== undefined && isDeepStrictEqual(user.password, proof.password);
      return user && isProven ? principalOf(user, by === "certificate" ? by : "basic") : undefined;
    },
  };
}
