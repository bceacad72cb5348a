import { SignInError, type SignIn } from "../access/sign-in.ts";
import type { Log, Metrics } from "../../base/report/index.ts";
import { apiError, type ApiErrorCode } from "../api-error.ts";
import { callbackPath, createSessionCookies } from "../auth/authenticator.ts";
import { type Call, headerOf, sendJson } from "../http/call.ts";

/** Where a browser goes after a sign-in that names no other place: the Overview. */
const overviewPath = "/";
export const sessionPath = "/session";
export const loginPath = "/login";
export const logoutPath = "/logout";
export const signInWaysPath = "/api/v1/sign-in";

export interface SignInEndpoints {
  /** The name of the cookie that proves who asks. */
  readonly cookie: string;
  /** Sends the browser to the issuer. `?to=/path` is where it goes at the end. */
  readonly login: (call: Call) => Promise<void>;
  /** Where the issuer sends it back. */
  readonly callback: (call: Call) => Promise<void>;
  readonly logout: (call: Call) => Promise<void>;
}

const results = ["ok", "refused", "unavailable", "busy"] as const;
const fresh = { "cache-control": "no-store", "referrer-policy": "no-referrer" };
const maxTargetLength = 1024;
const errorCodes: Readonly<Record<SignInError["code"], readonly [ApiErrorCode, string]>> = {
  refused: ["permission_denied", "SIGN_IN_REFUSED"],
  unavailable: ["unavailable", "ISSUER_UNAVAILABLE"],
  busy: ["resource_exhausted", "TOO_MANY_SIGN_INS"],
};

export function createSignInEndpoints(signIn: SignIn, metrics: Metrics, log: Log): SignInEndpoints {
  const cookies = createSessionCookies(signIn);
  const { pathname } = new URL(signIn.redirectUrl);
  /** What a proxy puts in front of every path. */
  const prefix = pathname.endsWith(callbackPath) ? pathname.slice(0, -callbackPath.length) : "";
  const ended = metrics.counter("netgloss_api_sign_ins_total", "Sign-ins at the issuer, by result.", {
    result: results,
  });
  metrics.gaugeFrom("netgloss_api_sessions", "Sessions of users who signed in at the issuer.", [], () => [
    [{}, signIn.sessions()],
  ]);

  /** Counts and logs the result. */
  const refusing = async <T>(call: Call, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      ended.add(1, { result: error.code });
      const peer = call.peer === undefined ? {} : { peer: call.peer };
      log.warn({ ...peer, result: error.code, reason: error.message }, "sign-in failed");
      throw apiError(...errorCodes[error.code], error.message);
    }
  };

  return {
    cookie: cookies.sessionName,
    async login(call) {
      const target = call.query.get("to") ?? overviewPath;
      if (target.length > maxTargetLength || !/^\/(?!\/)[!-[\]-~]*$/.test(target)) {
        const description = "to must be a path of this server: /api/v1/flow/exporters";
        throw apiError("invalid_argument", "INVALID_FIELD", description, {
          violations: [{ field: "to", description }],
        });
      }
      const { url, state } = await refusing(call, signIn.begin(target));
      call.answer(302, { ...fresh, location: url, "set-cookie": cookies.keepState(state) }, "");
    },
    async callback(call) {
      const kept = cookies.state(headerOf(call.headers, "cookie"));
      const { principal, session, target } = await refusing(call, signIn.finish(call.query, kept));
      call.principal = principal;
      ended.add(1, { result: "ok" });
      const { name: user, role } = principal;
      log.info({ user, role, ...(call.peer !== undefined && { peer: call.peer }) }, "signed in");
      const set = [cookies.keepSession(session), cookies.keepState("")];
      call.answer(302, { ...fresh, location: prefix + target, "set-cookie": set }, "");
    },
    async logout(call) {
      const session = cookies.session(headerOf(call.headers, "cookie"));
      const principal = session === undefined ? undefined : signIn.end(session);
      if (principal !== undefined) {
        log.info({ user: principal.name, ...(call.peer !== undefined && { peer: call.peer }) }, "signed out");
      }
      call.code = "ok";
      call.answer(204, { ...fresh, "set-cookie": cookies.keepSession("") }, "");
    },
  };
}

/** How people can prove who they are, for pages that ask them. */
export interface SignInWays {
  /** Whether anybody has to. */
  readonly required: boolean;
  readonly ways: readonly ("password" | "token" | "issuer")[];
}

export function signInWays(proofs: readonly ("password" | "token")[], hasIssuer: boolean): SignInWays {
  const ways = [...proofs, ...(hasIssuer ? (["issuer"] as const) : [])];
  return { required: ways.length > 0, ways };
}

/** Answers who asks, however that was proven. */
export function serveSession(call: Call): Promise<void> {
  return sendJson(call, 200, call.principal ?? {}, { "cache-control": "no-store" });
}
