import type { Principal } from "../access/role.ts";
import { SignInError, type SignIn } from "../access/sign-in.ts";
import type { Sessions } from "../access/sessions.ts";
import type { Counter, Log, Metrics } from "../../base/report/index.ts";
import { apiError, type ApiErrorCode } from "../api-error.ts";
import { callbackPath, csrfHeader, SessionCookies } from "../auth/authenticator.ts";
import { type Call, headerOf, sendJson } from "../http/call.ts";
import {
  allowed,
  anybody,
  describe,
  failure,
  jsonResponse,
  operation,
  page,
  parameter,
  refusals,
  type Endpoint,
} from "./endpoint.ts";
import type { JsonSchema } from "./shape.ts";

/** The default path after a sign-in, the Overview. */
const overviewPath = "/";

const results = ["ok", "refused", "unavailable", "busy"] as const;
const fresh = { "cache-control": "no-store", "referrer-policy": "no-referrer" };
const maxTargetLength = 1024;
const errorCodes: Readonly<Record<SignInError["code"], readonly [ApiErrorCode, string]>> = {
  refused: ["permission_denied", "SIGN_IN_REFUSED"],
  unavailable: ["unavailable", "ISSUER_UNAVAILABLE"],
  busy: ["resource_exhausted", "TOO_MANY_SIGN_INS"],
};

export class SignInEndpoints {
  readonly #signIn: SignIn;
  readonly #sessions: Sessions;
  readonly #log: Log;
  readonly #cookies: SessionCookies;
  /** The prefix that a proxy puts in front of every path. */
  readonly #prefix: string;
  /** True where browsers use TLS. A proxy in front may end it. */
  readonly #isSecure: boolean;
  readonly #ended: Counter;

  constructor(signIn: SignIn, sessions: Sessions, metrics: Metrics, log: Log) {
    this.#signIn = signIn;
    this.#sessions = sessions;
    this.#log = log;
    this.#cookies = new SessionCookies(sessions.lifetimeMs);
    const { pathname, protocol } = new URL(signIn.redirectUrl);
    this.#isSecure = protocol === "https:";
    this.#prefix = pathname.endsWith(callbackPath) ? pathname.slice(0, -callbackPath.length) : "";
    this.#ended = metrics.counter("netgloss_api_sign_ins_total", "Sign-ins at the issuer, by result.", {
      result: results,
    });
  }

  /** Sends the browser to the issuer. `?to=/path` is its path after the sign-in. */
  async login(call: Call): Promise<void> {
    const target = call.query.get("to") ?? overviewPath;
    if (target.length > maxTargetLength || !/^\/(?!\/)[!-[\]-~]*$/.test(target)) {
      const description = "to must be a path of this server: /api/v1/flow/exporters";
      throw apiError("invalid_argument", "INVALID_FIELD", description, {
        violations: [{ field: "to", description }],
      });
    }
    const { url, state } = await this.#refusing(call, this.#signIn.begin(target));
    call.answer(302, { ...fresh, location: url, "set-cookie": this.#cookies.keepState(state, this.#isSecure) }, "");
  }

  /** Serves the path to which the issuer sends the browser back. */
  async callback(call: Call): Promise<void> {
    const kept = this.#cookies.state(headerOf(call.headers, "cookie"), this.#isSecure);
    const { principal, target } = await this.#refusing(call, this.#signIn.finish(call.query, kept));
    call.principal = principal;
    this.#ended.add(1, { result: "ok" });
    const isSecure = this.#isSecure;
    const session = this.#sessions.begin(principal, { proof: "issuer", isSecure, current: () => principal });
    logSignIn(this.#log, call, principal, "issuer");
    const set = [this.#cookies.keepSession(session, isSecure), this.#cookies.keepState("", isSecure)];
    call.answer(302, { ...fresh, location: this.#prefix + target, "set-cookie": set }, "");
  }

  /** Counts and logs the result of a sign-in. */
  async #refusing<T>(call: Call, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      this.#ended.add(1, { result: error.code });
      const peer = call.peer === undefined ? {} : { peer: call.peer };
      this.#log.warn({ ...peer, result: error.code, reason: error.message }, "sign-in failed");
      throw apiError(...errorCodes[error.code], error.message);
    }
  }
}

function logSignIn(log: Log, { peer }: Call, { name: user, role }: Principal, by: string): void {
  log.info({ user, role, by, ...(peer !== undefined && { peer }) }, "signed in");
}

/** The means of authentication other than a session. */
export type Proof = "password" | "token";

const uncached = { "cache-control": "no-store" };

export interface SessionParts {
  readonly sessions: Sessions;
  readonly proofs: readonly Proof[];
  readonly hasIssuer: boolean;
  /** True where the port itself has TLS. */
  readonly hasTls: boolean;
  /** Returns the current form of a principal that used a password or token; undefined where the proof is no longer valid. */
  readonly current: (principal: Principal) => Principal | undefined;
  readonly log: Log;
}

/** The endpoints for the caller's identity and for sessions of browsers. */
export class SessionEndpoints {
  readonly #parts: SessionParts;
  readonly #cookies: SessionCookies;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#cookies = new SessionCookies(parts.sessions.lifetimeMs);
  }

  /** Begins a session of a caller that has just authenticated by password or token, and ends the browser's previous session. */
  async begin(call: Call): Promise<void> {
    const { principal } = call;
    const by = principal?.by;
    if (principal === undefined || (by !== "basic" && by !== "token")) {
      const message = "a session begins with a name and a password, or with a token, in the header Authorization";
      throw apiError("invalid_argument", "NO_PROOF", message);
    }
    const { sessions, log, hasTls, current } = this.#parts;
    const before = this.#cookies.session(headerOf(call.headers, "cookie"));
    if (before !== undefined) sessions.end(before.key);
    const origin = headerOf(call.headers, "origin");
    const isSecure = origin === undefined ? hasTls : origin.startsWith("https:");
    const proof = by === "basic" ? "password" : "token";
    const signedIn: Principal = { ...principal, by: "session" };
    const key = sessions.begin(signedIn, { proof, isSecure, current: () => current(principal) });
    call.principal = signedIn;
    call.code = "ok";
    logSignIn(log, call, signedIn, proof);
    const set = this.#cookies.keepSession(key, isSecure);
    return sendJson(call, 200, this.#answer(signedIn), { ...fresh, "set-cookie": set });
  }

  /** Answers with the identity of the caller. */
  async who(call: Call): Promise<void> {
    return sendJson(call, 200, call.principal === undefined ? {} : this.#answer(call.principal), uncached);
  }

  /** Ends the session of the cookie. With `everywhere` it ends all sessions of its user. */
  async end(call: Call): Promise<void> {
    const { sessions, log } = this.#parts;
    const cookie = this.#cookies.session(headerOf(call.headers, "cookie"));
    const { principal, peer } = call;
    if (principal?.by === "session") {
      const isEverywhere = ["", "true", "1"].includes(call.query.get("everywhere") ?? "false");
      const ended = isEverywhere ? sessions.endAll(principal) : 1;
      if (cookie !== undefined) sessions.end(cookie.key);
      log.info({ user: principal.name, sessions: ended, ...(peer !== undefined && { peer }) }, "signed out");
    }
    call.code = "ok";
    call.answer(204, { ...fresh, "set-cookie": this.#cookies.keepSession("", cookie?.isSecure ?? false) }, "");
  }

  #answer(principal: Principal): unknown {
    return { ...principal, ...this.#parts.sessions.tellPage(principal) };
  }
}

/** Returns the rows of the caller's identity, of sessions, and of the means of authentication, which the pages offer. */
export function sessionEndpoints(parts: SessionParts): readonly Endpoint[] {
  const { proofs, hasIssuer } = parts;
  const session = new SessionEndpoints(parts);
  const ways = [...proofs, ...(hasIssuer ? (["issuer"] as const) : [])];
  const answer = { required: ways.length > 0, ways };
  const schema: JsonSchema = {
    type: "object",
    required: ["required", "ways"],
    properties: {
      required: { type: "boolean", description: "Whether anybody has to." },
      ways: { type: "array", items: { enum: ["password", "token", "issuer"] } },
    },
  };
  const who = jsonResponse("The user.", whoSchema);
  const cookieSet = { "Set-Cookie": { schema: { type: "string" } } };
  const begins = operation(
    "/api/v1/sessions",
    allowed("viewer", undefined, "nothing"),
    false,
    (call) => session.begin(call),
    describe("collector", "beginSession", "Begins a session of who proves who it is by password or token", {
      "200": { ...who, description: "The user; the cookie is that of the session.", headers: cookieSet },
      ...refusals,
    }),
  );
  const ends = operation(
    "/logout",
    { ...anybody, isPersonal: true },
    false,
    (call) => session.end(call),
    describe(
      "collector",
      "logout",
      "Ends the session of the cookie",
      { "204": { description: "There is no session any more.", headers: cookieSet }, "403": failure },
      {
        parameters: [
          parameter("everywhere", "Ends all sessions of the user, in other browsers, too.", { type: "boolean" }),
        ],
      },
    ),
  );
  return [
    page(
      "/session",
      allowed("viewer", undefined, "nothing"),
      (call) => session.who(call),
      describe("collector", "session", "Who asks, and what they may do", { "200": who }),
    ),
    ...(proofs.length > 0 ? [begins] : []),
    ...(ways.length > 0 ? [ends] : []),
    page(
      "/api/v1/sign-in",
      { role: undefined, area: "collector" },
      (call) => sendJson(call, 200, answer, uncached),
      describe("collector", "signInWays", "How people prove who they are", {
        "200": jsonResponse("The ways.", schema),
      }),
    ),
  ];
}

const whoSchema: JsonSchema = {
  type: "object",
  additionalProperties: true,
  properties: {
    csrfToken: {
      type: "string",
      description: `Of a session: what the header ${csrfHeader} has to carry with all that changes something.`,
    },
    proof: { enum: ["password", "token", "issuer"], description: "Of a session: how it began." },
  },
};

/** Returns the rows with which a browser signs in at the issuer. They need no authentication. */
export function signInEndpoints(signIn: SignInEndpoints): readonly Endpoint[] {
  const moved = (description: string): JsonSchema => ({
    "302": {
      description,
      headers: { Location: { schema: { type: "string" } }, "Set-Cookie": { schema: { type: "string" } } },
    },
    "400": failure,
    "403": failure,
    "503": failure,
  });
  const text = { type: "string" };
  return [
    page(
      "/login",
      anybody,
      (call) => signIn.login(call),
      describe("collector", "login", "Sends the browser to the issuer", moved("To the issuer."), {
        parameters: [parameter("to", "The path where the browser goes at the end; /session when left out.", text)],
      }),
    ),
    page(
      callbackPath,
      anybody,
      (call) => signIn.callback(call),
      describe(
        "collector",
        "loginCallback",
        "Where the issuer sends the browser back to",
        moved("To where the sign-in was to end."),
        { parameters: ["code", "state", "error"].map((name) => parameter(name, "As the issuer sends it.", text)) },
      ),
    ),
  ];
}
