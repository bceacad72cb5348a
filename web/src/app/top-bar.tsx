import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { chooseScope, chosenScope } from "../api/scope.ts";
import type { Session } from "../api/session.ts";
import { hrefOfText, navigate, usePlace, valueAt } from "../navigation/place.ts";
import { DropDown } from "../ui/drop-down.tsx";
import { chooseTheme, useTheme, type ThemeChoice } from "../ui/theme.ts";

export interface TopBarProps {
  readonly session: Session | undefined;
  readonly onSignOut: (everywhere?: boolean) => void;
}

/** Above every page: the Explain box, who is signed in, light or dark. */
export function TopBar({ session, onSignOut }: TopBarProps): JSX.Element {
  return (
    <header class="top">
      <ExplainBox />
      <div class="top-end">
        <ScopeSwitch scopes={session?.scopes} />
        <ThemeSwitch />
        {session?.name !== undefined && (
          <span class="who">
            {session.by === "certificate" ? (
              <span>
                {session.name} <span class="note">({session.role})</span>
              </span>
            ) : (
              <>
                <DropDown className="menu" label={`${session.name} (${session.role ?? ""})`}>
                  <div class="menu-body">
                    <p class="note">Signed in in all tabs of this browser.</p>
                    <button type="button" class="button" onClick={() => onSignOut(true)}>
                      End all sessions of {session.name}
                    </button>
                  </div>
                </DropDown>
                <button type="button" class="button quiet" onClick={() => onSignOut()}>
                  Sign out
                </button>
              </>
            )}
          </span>
        )}
      </div>
    </header>
  );
}

/** One box for all that has a name. `/` jumps into it from anywhere, Escape back to the page. */
function ExplainBox(): JSX.Element {
  const place = usePlace();
  const { page, query } = place;
  const of = valueAt(place);
  const shown =
    page === "explain" ? (query.get("q") ?? "") : of?.field === "address" || of?.field === "prefix" ? of.value : "";
  const [text, setText] = useState(shown);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(shown), [shown, page]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <form
      role="search"
      class="explain-box"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") navigate(hrefOfText(text.trim()));
      }}
    >
      <label class="hidden" for="explain-box">
        Explain an address, prefix, name or tag
      </label>
      <input
        id="explain-box"
        ref={input}
        type="search"
        value={text}
        placeholder="Explain an address, prefix, name or tag"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          document.getElementById("content")?.focus();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** Of several scopes, the one whose metadata is shown. */
function ScopeSwitch({ scopes = [] }: { readonly scopes: readonly string[] | undefined }): JSX.Element | null {
  if (scopes.length < 2) return null;
  return (
    <label class="theme" title="The scope whose metadata is shown; flows are those of all of your scopes">
      <span class="theme-label">Scope</span>
      <select
        value={chosenScope()}
        onChange={(event) => {
          chooseScope(event.currentTarget.value);
          location.reload();
        }}
      >
        {scopes.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const choices: readonly (readonly [ThemeChoice, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

function ThemeSwitch(): JSX.Element {
  const { choice } = useTheme();
  return (
    <label class="theme" title="Colours of the pages: as the system has them, light, or dark">
      <span class="theme-sign" aria-hidden="true">
        ◐
      </span>
      <span class="theme-label">Theme</span>
      <select value={choice} onChange={(event) => chooseTheme(event.currentTarget.value as ThemeChoice)}>
        {choices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
