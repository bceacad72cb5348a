import { SignInError, type SignIn } from "../access/sign-in.ts";
import type { Counter, Log, Metrics } from "../../base/report/index.ts";
import { apiError, type ApiErrorCode } from "../api-error.ts";
import { callbackPath, SessionCookies } from "../auth/authenticator.ts";
import { type Call, headerOf, sendJson } from "../http/call.ts";
import {
  allowed,
  anybody,
  anyObject,
  describe,
  failure,
  jsonResponse,
  operation,
  page,
  parameter,
  type Endpoint,
} from "./endpoint.ts";
import type { JsonSchema } from "./shape.ts";

/** The path of a browser after a sign-in that names no other: the Overview. */
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
  /** The name of the cookie that proves who asks. */
  readonly cookie: string;
  readonly #signIn: SignIn;
  readonly #log: Log;
  readonly #cookies: SessionCookies;
  /** The prefix that a proxy puts in front of every path. */
  readonly #prefix: string;
  readonly #ended: Counter;

  constructor(signIn: SignIn, metrics: Metrics, log: Log) {
    this.#signIn = signIn;
    this.#log = log;
    this.#cookies = new SessionCookies(signIn);
    const { pathname } = new URL(signIn.redirectUrl);
    this.#prefix = pathname.endsWith(callbackPath) ? pathname.slice(0, -callbackPath.length) : "";
    this.#ended = metrics.counter("netgloss_api_sign_ins_total", "Sign-ins at the issuer, by result.", {
      result: results,
    });
    metrics.gaugeFrom("netgloss_api_sessions", "Sessions of users who signed in at the issuer.", [], () => [
      [{}, signIn.sessions()],
    ]);
    this.cookie = this.#cookies.sessionName;
  }

  /** Sends the browser to the issuer. `?to=/path` is where it goes at the end. */
  async login(call: Call): Promise<void> {
    const target = call.query.get("to") ?? overviewPath;
    if (target.length > maxTargetLength || !/^\/(?!\/)[!-[\]-~]*$/.test(target)) {
      const description = "to must be a path of this server: /api/v1/flow/exporters";
      throw apiError("invalid_argument", "INVALID_FIELD", description, {
        violations: [{ field: "to", description }],
      });
    }
    const { url, state } = await this.#refusing(call, this.#signIn.begin(target));
    call.answer(302, { ...fresh, location: url, "set-cookie": this.#cookies.keepState(state) }, "");
  }

  /** Serves the path to which the issuer sends the browser back. */
  async callback(call: Call): Promise<void> {
    const kept = this.#cookies.state(headerOf(call.headers, "cookie"));
    const { principal, session, target } = await this.#refusing(call, this.#signIn.finish(call.query, kept));
    call.principal = principal;
    this.#ended.add(1, { result: "ok" });
    const { name: user, role } = principal;
    this.#log.info({ user, role, ...(call.peer !== undefined && { peer: call.peer }) }, "signed in");
    const set = [this.#cookies.keepSession(session), this.#cookies.keepState("")];
    call.answer(302, { ...fresh, location: this.#prefix + target, "set-cookie": set }, "");
  }

  async logout(call: Call): Promise<void> {
    const session = this.#cookies.session(headerOf(call.headers, "cookie"));
    const principal = session === undefined ? undefined : this.#signIn.end(session);
    if (principal !== undefined) {
      this.#log.info({ user: principal.name, ...(call.peer !== undefined && { peer: call.peer }) }, "signed out");
    }
    call.code = "ok";
    call.answer(204, { ...fresh, "set-cookie": this.#cookies.keepSession("") }, "");
  }

  /** Counts and logs the result. */
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

/** The ways to prove who one is, besides a session. */
export type Proof = "password" | "token";

const uncached = { "cache-control": "no-store" };

/** Returns the rows of who asks, and of how people can prove who they are, for pages that ask them. */
export function sessionEndpoints(proofs: readonly Proof[], hasIssuer: boolean): readonly Endpoint[] {
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
  return [
    page(
      "/session",
      allowed("viewer", undefined, "nothing"),
      (call) => sendJson(call, 200, call.principal ?? {}, uncached),
      describe("collector", "session", "Who asks, and what they may do", {
        "200": jsonResponse("The user.", anyObject),
      }),
    ),
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

/** Returns the rows of what a browser needs to sign in at the issuer. Who signs in or out has nothing to prove. */
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
  const loggedOut = {
    description: "There is no session any more.",
    headers: { "Set-Cookie": { schema: text } },
  };
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
    operation(
      "/logout",
      anybody,
      false,
      (call) => signIn.logout(call),
      describe("collector", "logout", "Ends the session of the cookie", { "204": loggedOut, "403": failure }),
    ),
  ];
}
