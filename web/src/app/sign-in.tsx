import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { byPassword, byToken, type Credentials } from "../api/credentials.ts";
import type { SignInWays } from "../api/session.ts";
import { base } from "../navigation/place.ts";

export interface SignInProps {
  readonly ways: SignInWays["ways"];
  readonly rejected: string | undefined;
  readonly onCredentials: (credentials: Credentials) => void;
}

/** Asks who looks: by name and password, by a token, at the issuer, whatever this collector takes. */
export function SignIn({ ways, rejected, onCredentials }: SignInProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [token, setToken] = useState("");
  useEffect(() => {
    document.title = "Sign in – netgloss";
    heading.current?.focus();
  }, []);
  // Below what a proxy puts in front: the collector adds that itself.
  const here = `/${location.pathname.slice(base().length)}${location.search}`;
  const issuerUrl = `${base()}login?${new URLSearchParams({ to: here }).toString()}`;
  return (
    <div class="page sign-in">
      <h1 ref={heading} tabIndex={-1}>
        Sign in
      </h1>
      <p class="lead">This collector shows its data to those it knows.</p>
      {rejected !== undefined && (
        <p class="state failure" role="alert">
          Not signed in: {rejected}.
        </p>
      )}
      {ways.includes("issuer") && (
        <p>
          <a class="button primary" href={issuerUrl} target="_self">
            Sign in with your organisation
          </a>
        </p>
      )}
      {ways.includes("password") && (
        <form
          class="card form"
          aria-label="Sign in with a password"
          onSubmit={(event) => {
            event.preventDefault();
            onCredentials(byPassword(name, password));
          }}
        >
          <label>
            Name
            <input value={name} onInput={(e) => setName(e.currentTarget.value)} autocomplete="username" required />
          </label>
          <label>
            Password
            <input
              type="password"
              value={password}
              onInput={(e) => setPassword(e.currentTarget.value)}
              autocomplete="current-password"
              required
            />
          </label>
          <button class="button primary">Sign in</button>
        </form>
      )}
      {ways.includes("token") && (
        <form
          class="card form"
          aria-label="Sign in with a token"
          onSubmit={(event) => {
            event.preventDefault();
            onCredentials(byToken(token));
          }}
        >
          <label>
            Token
            <input
              type="password"
              value={token}
              onInput={(e) => setToken(e.currentTarget.value)}
              autocomplete="off"
              required
            />
          </label>
          <button class="button">Sign in with the token</button>
        </form>
      )}
      <p class="note">
        You are signed in in all tabs of this browser then, until you sign out. What you enter is not kept.
      </p>
    </div>
  );
}
