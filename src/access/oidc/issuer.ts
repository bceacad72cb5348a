import type * as OpenIdClient from "openid-client";
import type { Clock } from "../../report/index.ts";
import { claimOf, type Claims } from "./claimed-user.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { createTrustingFetch } from "./trusting-fetch.ts";
import { SignInError } from "./sign-in-error.ts";

/** How long the description of an issuer is used, milliseconds. */
const descriptionMs = 3_600_000;
/** How long one request to an issuer may take, seconds. */
const requestSeconds = 10;

/** What only the collector knows of a sign-in that is under way. */
export interface Challenge {
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

/** The server at which users sign in. */
export interface Issuer {
  /** Where the browser has to go. @throws SignInError `unavailable` */
  begin(state: string, challenge: Challenge): Promise<string>;
  /**
   * What the issuer says of the user, once its answer to the browser has proven right: state, nonce, PKCE, and signature, issuer,
   * audience and time of the ID token.
   *
   * @throws SignInError
   */
  finish(answer: URLSearchParams, state: string, challenge: Challenge): Promise<Claims>;
  /** A new secret for each sign-in. */
  challenge(): Promise<Challenge>;
}

/** The library is loaded with the first sign-in. */
export function createIssuer(config: OidcConfig, clock: Pick<Clock, "monotonic">): Issuer {
  const load = (): Promise<typeof OpenIdClient> => import("openid-client");
  let known: { readonly description: Promise<OpenIdClient.Configuration>; readonly ends: number } | undefined;

  const discover = async (): Promise<OpenIdClient.Configuration> => {
    const client = await load();
    const auth = config.clientAuth === "basic" ? client.ClientSecretBasic : client.ClientSecretPost;
    const isClear = new URL(config.issuer).protocol === "http:";
    const { authorities } = config;
    return client.discovery(
      new URL(config.issuer),
      config.clientId,
      undefined,
      config.clientSecret === "" ? client.None() : auth(config.clientSecret),
      {
        timeout: requestSeconds,
        [client.customFetch]: createTrustingFetch(authorities?.()),
        // Without it the signature of an ID token that comes straight from the issuer is not looked at.
        execute: [client.enableNonRepudiationChecks, ...(isClear ? [client.allowInsecureRequests] : [])],
      },
    );
  };

  const unavailable = (error: unknown): SignInError =>
    new SignInError("unavailable", `the issuer ${config.issuer} cannot be used: ${reasonOf(error)}`, { cause: error });

  /** One question at a time; a failure is not kept. Whatever is wrong with a description: nobody can sign in. */
  const describe = (): Promise<OpenIdClient.Configuration> => {
    if (known === undefined || known.ends <= clock.monotonic()) {
      const description = discover().catch((error: unknown) => {
        known = undefined;
        throw unavailable(error);
      });
      known = { description, ends: clock.monotonic() + descriptionMs };
    }
    return known.description;
  };

  const asSignInError = async (error: unknown): Promise<SignInError> => {
    if (error instanceof SignInError) return error;
    const { AuthorizationResponseError, ResponseBodyError, ClientError } = await load();
    if (error instanceof AuthorizationResponseError) {
      return new SignInError("refused", `the issuer refused: ${said(error.error, error.error_description)}`);
    }
    if (error instanceof ResponseBodyError) {
      const answer = said(error.error, error.error_description);
      if (error.error === "invalid_grant") return new SignInError("refused", `the issuer refused: ${answer}`);
      return new SignInError("unavailable", `the issuer ${config.issuer} does not serve this collector: ${answer}`);
    }
    if (!(error instanceof ClientError) || noAnswer.has(error.code ?? "")) return unavailable(error);
    const message = `the answer of the issuer cannot be trusted: ${reasonOf(error)}`;
    return new SignInError("refused", message, { cause: error });
  };

  return {
    async challenge() {
      const client = await load();
      return { nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
    },
    async begin(state, { nonce, verifier }) {
      const client = await load();
      const url = client.buildAuthorizationUrl(await describe(), {
        redirect_uri: config.redirectUrl,
        scope: config.scopes.join(" "),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      });
      return url.href;
    },
    async finish(answer, state, { nonce, verifier }) {
      const client = await load();
      try {
        const description = await describe();
        const url = new URL(config.redirectUrl);
        url.search = answer.toString();
        const tokens = await client.authorizationCodeGrant(description, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims: Claims = { ...tokens.claims() };
        const hasUserInfo = description.serverMetadata().userinfo_endpoint !== undefined;
        if (claimOf(claims, config.roleClaim) !== undefined || !hasUserInfo) return claims;
        const more = await client.fetchUserInfo(description, tokens.access_token, String(claims["sub"]));
        return { ...more, ...claims };
      } catch (error) {
        throw await asSignInError(error);
      }
    },
  };
}

/** Codes of the library for an issuer that gave no answer of use. */
const noAnswer: ReadonlySet<string> = new Set([
  "OAUTH_TIMEOUT",
  "OAUTH_ABORT",
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

function said(error: string, description: string | undefined): string {
  return JSON.stringify(description === undefined ? error : `${error}: ${description}`).slice(0, 300);
}

/** The library says what it did, the innermost cause why that failed. What the issuer answered, whom nobody may know, is no part of it. */
function reasonOf(error: unknown): string {
  const texts: string[] = [];
  for (let at = error; at instanceof Error && texts.length < 5; at = at.cause) {
    // It quotes the text that is no JSON.
    if (at instanceof SyntaxError) break;
    const code = (at as NodeJS.ErrnoException).code;
    const text = at.message === "" ? (code ?? at.name) : at.message;
    if (text !== "something went wrong" && !texts.includes(text)) texts.push(text);
  }
  return texts.join(": ").slice(0, 300);
}
