import type { ComponentChildren } from "preact";

/** A sentence in which what stands between backticks is code, and so are names of settings. */
export function withCode(text: string): ComponentChildren {
  return text
    .split(/`([^`]*)`|(\bSVC_[A-Z0-9_]+)/)
    .map((part, at) => (at % 3 === 0 || part === undefined ? part : <code key={at}>{part}</code>));
}
