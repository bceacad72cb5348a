import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useConnection } from "../api/connection.ts";
import { formatDuration } from "../format/numbers.ts";

/** Says that the collector does not answer, for how long, and that it is back. */
export function ConnectionBanner(): JSX.Element {
  const { connection, comebacks } = useConnection();
  const [now, setNow] = useState(Date.now());
  const [isBack, setBack] = useState(false);
  useEffect(() => {
    if (connection.state === "up") return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [connection]);
  useEffect(() => {
    if (comebacks === 0) return undefined;
    setBack(true);
    const timer = setTimeout(() => setBack(false), 4000);
    return () => clearTimeout(timer);
  }, [comebacks]);
  return (
    <div role="status" aria-live="polite">
      {connection.state === "away" && (
        <div class="banner away">
          <span class="spinner" aria-hidden="true" />
          <span>
            The collector does not answer
            <span aria-hidden="true">
              , for {formatDuration(Math.max(1, Math.round((now - connection.since) / 1000)))} now
            </span>
            . This page goes on by itself when it is back.
          </span>
        </div>
      )}
      {connection.state === "up" && isBack && <div class="banner back">The collector is back.</div>}
    </div>
  );
}
