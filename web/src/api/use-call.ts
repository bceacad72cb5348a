import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiFailure } from "./api-failure.ts";
import { callApi, type ApiCall } from "./call.ts";
import { useConnection } from "./connection.ts";

/** What is known of a call: its last answer stays while it is made again, and when that fails. */
export interface Loaded<Answer> {
  readonly answer: Answer | undefined;
  /** Of the last try; undefined after one that went well. */
  readonly failure: ApiFailure | undefined;
  readonly isLoading: boolean;
  /** When the answer came, milliseconds since the epoch. */
  readonly loadedAt: number | undefined;
  readonly reload: () => void;
}

export interface LoadOptions {
  /** Made again this many milliseconds after each answer, while the page is seen. */
  readonly everyMs?: number;
  readonly timeoutMs?: number;
  /** The answer of the question before stays until the new one is there. */
  readonly keepsOld?: boolean;
}

/**
 * Makes a call when it is new or has changed, again by the clock, and again when the collector came back. Undefined: there is nothing to ask.
 * A call that another one replaces is aborted.
 */
export function useCall<Answer>(call: ApiCall | undefined, options: LoadOptions = {}): Loaded<Answer> {
  const key = call === undefined ? undefined : JSON.stringify(call);
  const load = useCallback(
    (signal: AbortSignal): Promise<Answer> =>
      callApi<Answer>(JSON.parse(key ?? "{}") as ApiCall, { signal, ...pick(options) }),
    [key],
  );
  return useLoad(key === undefined ? undefined : load, key, options);
}

/** The same of several calls, or of what is made of them. `key` says when it is another question. */
export function useLoad<Answer>(
  load: ((signal: AbortSignal) => Promise<Answer>) | undefined,
  key: string | undefined,
  { everyMs, keepsOld = false }: LoadOptions = {},
): Loaded<Answer> {
  const [state, setState] = useState<Omit<Loaded<Answer>, "reload"> & { readonly key: string | undefined }>(nothing);
  const [turn, setTurn] = useState(0);
  const { comebacks } = useConnection();
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    if (key === undefined) {
      setState(nothing);
      return undefined;
    }
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      if (everyMs !== undefined && document.visibilityState === "hidden") {
        timer = setTimeout(() => void ask(), everyMs);
        return;
      }
      setState((old) =>
        old.key === key || keepsOld ? { ...old, isLoading: true } : { ...nothing, key, isLoading: true },
      );
      try {
        const answer = await latest.current?.(gone.signal);
        if (gone.signal.aborted) return;
        setState({ key, answer, failure: undefined, isLoading: false, loadedAt: Date.now() });
      } catch (error) {
        if (gone.signal.aborted) return;
        setState((old) => ({ ...old, key, failure: toFailure(error), isLoading: false }));
      }
      if (everyMs !== undefined) timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [key, turn, comebacks, everyMs]);

  // What belongs to another question is not shown for this one.
  const { key: knownKey, ...known } = state;
  const shown =
    knownKey === key || (keepsOld && key !== undefined) ? known : { ...nothing, isLoading: key !== undefined };
  return {
    answer: shown.answer,
    failure: shown.failure,
    isLoading: shown.isLoading,
    loadedAt: shown.loadedAt,
    reload: () => setTurn((count) => count + 1),
  };
}

const nothing = { key: undefined, answer: undefined, failure: undefined, isLoading: false, loadedAt: undefined };

const pick = ({ timeoutMs }: LoadOptions): { timeoutMs?: number } => (timeoutMs === undefined ? {} : { timeoutMs });

function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure("refused", error instanceof Error ? error.message : String(error));
}
