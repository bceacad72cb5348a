import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFailure } from "../../api/api-failure.ts";
import type { Alert } from "../../api/alerts.ts";
import type { ApiCall } from "../../api/call.ts";
import { noteSilence, useConnection } from "../../api/connection.ts";
import { follow } from "../../api/follow.ts";
import { afterEvent, type AlertEvent } from "./known-alerts.ts";

export const streamCall: ApiCall = { path: "api/v1/watch/alerts/stream" };

export interface LiveAlerts {
  /** Undefined before the first answer. */
  readonly alerts: readonly Alert[] | undefined;
  readonly failure: ApiFailure | undefined;
  readonly retry: () => void;
}

/** So often is the page drawn, however much happens. */
const drawMs = 250;

/** All alerts as they are, while `isOn`; begins again, where it was, when the collector comes back. */
export function useAlerts(isOn: boolean): LiveAlerts {
  const [alerts, setAlerts] = useState<readonly Alert[] | undefined>(undefined);
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const [again, setAgain] = useState(0);
  const { comebacks } = useConnection();
  const known = useRef(new Map<string, Alert>());
  const last = useRef<string | undefined>(undefined);

  useEffect(() => {
    setFailure(undefined);
    if (!isOn) return undefined;
    const gone = new AbortController();
    // What came before the stream ended may not be drawn yet.
    let isChanged = last.current !== undefined;
    const draw = (): void => {
      if (isChanged) setAlerts(inOrder(known.current.values()));
      isChanged = false;
    };
    const timer = setInterval(draw, drawMs);
    const take = (line: string): void => {
      const event = JSON.parse(line) as AlertEvent;
      last.current = event.id;
      known.current = afterEvent(known.current, event);
      isChanged = true;
      // The first answer does not wait.
      if (event.alerts !== undefined) draw();
    };
    const after = last.current === undefined ? "" : `?after=${encodeURIComponent(last.current)}`;
    const call = { path: streamCall.path + after, accept: "application/x-ndjson" };
    follow(call, take, gone.signal).catch((error: unknown) => {
      if (gone.signal.aborted) return;
      if (error instanceof ApiFailure) setFailure(error);
      // A stream that ends by itself: the collector stopped.
      else noteSilence();
    });
    return () => {
      clearInterval(timer);
      gone.abort();
    };
  }, [isOn, comebacks, again]);

  return { alerts, failure, retry: () => setAgain((count) => count + 1) };
}

const rank = { firing: 0, pending: 1, cleared: 2 } as const;

/** Those that fire first, then the pending, then those that have ended; the newest first. */
function inOrder(alerts: Iterable<Alert>): readonly Alert[] {
  const at = ({ clearedAt, since }: Alert): number => clearedAt ?? since;
  return [...alerts].toSorted((a, b) => rank[a.state] - rank[b.state] || at(b) - at(a));
}
