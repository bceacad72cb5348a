import type { ComponentChildren, JSX } from "preact";
import type { ApiFailure } from "../api/api-failure.ts";
import type { Loaded } from "../api/use-call.ts";

/** Something is on its way. It shows only after a while: a quick answer does not flicker. */
export function Loading({ what = "Loading" }: { readonly what?: string }): JSX.Element {
  return (
    <div class="state loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {what} …
    </div>
  );
}

/** There is nothing to show; the children say what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="state empty" role="status">
      <strong>{title}</strong>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

const advice: Readonly<Record<ApiFailure["kind"], string>> = {
  offline: "This page asks again until it is back.",
  timeout: "It may be busy: try again, or ask for less.",
  unauthenticated: "Sign in and this page goes on.",
  forbidden: "Ask an administrator for the role that it needs.",
  refused: "Mend what the message names, or try again.",
};

/** A call that somebody made by a button is not made again by itself. */
const adviceForAction = {
  ...advice,
  offline: "Nothing is sent again by itself. Try again when the collector is back.",
};

const faultOfServer = "The log of the collector has more. Try again.";

/** A call failed: what the server said, what to do, and a button to try again. Without `retry` it is one that somebody made by a button. */
export function Failure({
  failure,
  retry,
}: {
  readonly failure: ApiFailure;
  readonly retry?: () => void;
}): JSX.Element {
  const advised = retry === undefined ? adviceForAction : advice;
  return (
    <div class="state failure" role="alert">
      <strong>{sentence(failure.message)}</strong>
      <div>{failure.status >= 500 ? faultOfServer : advised[failure.kind]}</div>
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What a call found: loading, failed, or its answer, which stays with a note when the next try failed. */
export function Shown<Answer>({
  of,
  what,
  children,
}: {
  readonly of: Loaded<Answer>;
  readonly what?: string;
  readonly children: (answer: Answer) => ComponentChildren;
}): JSX.Element {
  const { answer, failure, isLoading, reload } = of;
  if (answer === undefined) {
    if (failure !== undefined && !isLoading) return <Failure failure={failure} retry={reload} />;
    return what === undefined ? <Loading /> : <Loading what={what} />;
  }
  return (
    <>
      {failure !== undefined && failure.kind !== "offline" && <Failure failure={failure} retry={reload} />}
      {children(answer)}
    </>
  );
}

/** With a capital at its begin and a full stop. */
function sentence(text: string): string {
  const first = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
