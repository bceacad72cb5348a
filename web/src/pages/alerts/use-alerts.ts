import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFailure } from "../../api/api-failure.ts";
import type { Alert } from "../../api/alerts.ts";
import type { ApiCall } from "../../api/call.ts";
import { noteSilence, useConnection } from "../../api/connection.ts";
import { follow } from "../../api/follow.ts";

export const streamCall: ApiCall = { path: "api/v1/watch/alerts/stream" };

/** What the stream of alerts has in a line. */
interface AlertEvent {
  readonly id: string;
  readonly change: string;
  readonly alert?: Alert;
  readonly alerts?: readonly Alert[];
}

export interface LiveAlerts {
  /** Undefined before the first answer. */
  readonly alerts: readonly Alert[] | undefined;
  readonly failure: ApiFailure | undefined;
  readonly retry: () => void;
}

/** Alerts that have ended are kept so far; the collector keeps as many. */
const maxKept = 2000;
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
    let isChanged = false;
    const draw = (): void => {
      if (isChanged) setAlerts(inOrder(known.current.values()));
      isChanged = false;
    };
    const timer = setInterval(draw, drawMs);
    const take = (line: string): void => {
      const event = JSON.parse(line) as AlertEvent;
      last.current = event.id;
      known.current = applied(known.current, event);
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

function applied(known: Map<string, Alert>, { change, alert, alerts }: AlertEvent): Map<string, Alert> {
  if (alerts !== undefined) return new Map(alerts.map((each) => [each.id, each]));
  if (alert === undefined) return known;
  known.delete(alert.id);
  if (change === "gone") return known;
  known.set(alert.id, alert);
  const oldest = known.size > maxKept ? known.keys().next().value : undefined;
  if (oldest !== undefined) known.delete(oldest);
  return known;
}

const rank = { firing: 0, pending: 1, cleared: 2 } as const;

/** Those that fire first, then the pending, then those that have ended; the newest first. */
function inOrder(alerts: Iterable<Alert>): readonly Alert[] {
  const at = ({ clearedAt, since }: Alert): number => clearedAt ?? since;
  return [...alerts].toSorted((a, b) => rank[a.state] - rank[b.state] || at(b) - at(a));
}
