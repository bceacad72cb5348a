import { useEffect, useState } from "preact/hooks";
import { ApiFailure } from "../api/api-failure.ts";
import { callApi, onUnauthenticated } from "../api/call.ts";
import { keepCredentials, readCredentials, type Credentials } from "../api/credentials.ts";
import { useLoad } from "../api/use-call.ts";
import type { Session, SignInWays } from "../api/session.ts";
import { base } from "../navigation/place.ts";

/** Who looks at the pages, and how to become somebody. */
export interface SignInState {
  /** Undefined while it is not known. */
  readonly session: Session | undefined;
  readonly isNeeded: boolean;
  readonly ways: SignInWays["ways"];
  /** Why the last try went wrong. */
  readonly rejected: string | undefined;
  readonly failure: ApiFailure | undefined;
  readonly retry: () => void;
  readonly signIn: (credentials: Credentials) => void;
  readonly signOut: () => void;
}

type Known =
  | { readonly session: Session }
  | { readonly ways: SignInWays["ways"]; readonly rejected: string | undefined };

export function useSignIn(): SignInState {
  const [turn, setTurn] = useState(0);
  const [isRefused, setRefused] = useState(false);
  const again = (): void => {
    setRefused(false);
    setTurn((count) => count + 1);
  };
  const { answer, failure, reload } = useLoad(askWho, `session ${String(turn)}`, { keepsOld: true });

  // Any page may find out that a session has ended, or a password has changed.
  useEffect(() => onUnauthenticated(() => setRefused(true)), []);
  useEffect(() => {
    if (isRefused && answer !== undefined && "session" in answer) again();
  }, [isRefused, answer]);

  const unknown = answer !== undefined && "ways" in answer ? answer : undefined;
  return {
    session: answer !== undefined && "session" in answer ? answer.session : undefined,
    isNeeded: unknown !== undefined,
    ways: unknown?.ways ?? [],
    rejected: unknown?.rejected,
    failure: answer === undefined ? failure : undefined,
    retry: reload,
    signIn(credentials) {
      keepCredentials(credentials);
      again();
    },
    signOut() {
      keepCredentials(undefined);
      // Ends the session of an issuer, if there is one.
      void callApi({ method: "POST", path: "logout" })
        .catch(() => undefined)
        .finally(() => location.assign(base()));
    },
  };
}

async function askWho(signal: AbortSignal): Promise<Known> {
  const tried = readCredentials();
  try {
    return { session: await callApi<Session>({ path: "session" }, { signal }) };
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    const isTurnedAway = error.kind === "unauthenticated" || error.code === "resource_exhausted";
    if (!isTurnedAway) throw error;
    keepCredentials(undefined);
    const { ways } = await callApi<SignInWays>({ path: "api/v1/sign-in" }, { signal });
    return { ways, rejected: tried === undefined ? undefined : error.message };
  }
}
