import type { ComponentChildren } from "preact";

/** A sentence in which what stands between backticks is code. */
export function withCode(text: string): ComponentChildren {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
