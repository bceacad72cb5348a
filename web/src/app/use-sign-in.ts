import { useEffect, useState } from "preact/hooks";
import { ApiFailure } from "../api/api-failure.ts";
import { callApi, keepCsrfToken, onUnauthenticated, request } from "../api/call.ts";
import { unsendable, type Credentials } from "../api/credentials.ts";
import { useLoad } from "../api/use-call.ts";
import { settleScope } from "../api/scope.ts";
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
  /** Ends the session, `everywhere` those in other browsers, too. */
  readonly signOut: (everywhere?: boolean) => void;
  /** Why the session has not ended. */
  readonly signOutFault: string | undefined;
}

type Known = { readonly session: Session } | { readonly ways: SignInWays["ways"] };

/** On it tabs of one browser tell each other that who is signed in has changed. */
const channelName = "netgloss-session";

export function useSignIn(): SignInState {
  const [turn, setTurn] = useState(0);
  const [isRefused, setRefused] = useState(false);
  const [rejected, setRejected] = useState<string | undefined>(undefined);
  const [signOutFault, setSignOutFault] = useState<string | undefined>(undefined);
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
  useEffect(() => {
    const channel = new BroadcastChannel(channelName);
    channel.addEventListener("message", again);
    return () => channel.close();
  }, []);

  const unknown = answer !== undefined && "ways" in answer ? answer : undefined;
  return {
    session: answer !== undefined && "session" in answer ? answer.session : undefined,
    isNeeded: unknown !== undefined,
    ways: unknown?.ways ?? [],
    rejected,
    failure: answer === undefined ? failure : undefined,
    retry: reload,
    signIn(credentials) {
      void begin(credentials).then((failed) => {
        setRejected(failed);
        if (failed === undefined) {
          again();
          tellTabs();
        }
        return failed;
      });
    },
    signOut(everywhere = false) {
      void end(everywhere).then((failed) => {
        setSignOutFault(failed);
        if (failed === undefined) {
          tellTabs();
          location.assign(base());
        }
        return failed;
      });
    },
    signOutFault,
  };
}

/** Begins a session. @returns why not. */
async function begin(credentials: Credentials): Promise<string | undefined> {
  const fault = unsendable(credentials);
  if (fault !== undefined) return fault;
  try {
    await callApi<Session>({ method: "POST", path: "api/v1/sessions" }, { credentials });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Ends the session. @returns why it goes on. */
async function end(everywhere: boolean): Promise<string | undefined> {
  try {
    await request({ method: "POST", path: everywhere ? "logout?everywhere=true" : "logout" });
    return undefined;
  } catch (error) {
    // It has ended already.
    if (error instanceof ApiFailure && error.kind === "unauthenticated") return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}

function tellTabs(): void {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage("changed");
  channel.close();
}

async function askWho(signal: AbortSignal): Promise<Known> {
  try {
    const session = await callApi<Session>({ path: "session" }, { signal });
    keepCsrfToken(session.csrfToken);
    settleScope(session.scopes);
    return { session };
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    const isTurnedAway = error.kind === "unauthenticated" || error.code === "resource_exhausted";
    if (!isTurnedAway) throw error;
    keepCsrfToken(undefined);
    const { ways } = await callApi<SignInWays>({ path: "api/v1/sign-in" }, { signal });
    return { ways };
  }
}
