import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFailure } from "../../api/api-failure.ts";
import type { ApiCall } from "../../api/call.ts";
import { noteSilence, useConnection } from "../../api/connection.ts";
import { follow } from "../../api/follow.ts";

export type RecordFields = Readonly<Record<string, unknown>>;

/** A record with a number of its own, the newest has the highest. */
export interface TailRecord {
  readonly id: number;
  readonly fields: RecordFields;
}

/** Of the last second. */
export interface TailCounts {
  readonly seen: number;
  readonly matched: number;
  readonly passed: number;
}

export interface Tail {
  /** The newest first. */
  readonly records: readonly TailRecord[];
  readonly counts: TailCounts | undefined;
  readonly failure: ApiFailure | undefined;
  readonly clear: () => void;
  /** Begins again after a failure. */
  readonly retry: () => void;
}

const keptRecords = 100;
/** So often is the page drawn, however many records come. */
const drawMs = 250;

/** Follows flows as they leave, while `isOn`; begins again when the collector comes back. */
export function useTail(call: ApiCall, isOn: boolean): Tail {
  const [records, setRecords] = useState<readonly TailRecord[]>([]);
  const [counts, setCounts] = useState<TailCounts | undefined>(undefined);
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const [again, setAgain] = useState(0);
  const { comebacks } = useConnection();
  const nextId = useRef(0);
  const { path } = call;

  useEffect(() => {
    setFailure(undefined);
    if (!isOn) return undefined;
    const gone = new AbortController();
    let waiting: TailRecord[] = [];
    const timer = setInterval(() => {
      if (waiting.length === 0) return;
      const come = waiting.toReversed();
      waiting = [];
      setRecords((old) => [...come, ...old].slice(0, keptRecords));
    }, drawMs);
    const take = (line: string): void => {
      const value = JSON.parse(line) as RecordFields;
      if ("tail" in value) setCounts(value["tail"] as TailCounts);
      else waiting = [...waiting, { id: nextId.current++, fields: value }].slice(-keptRecords);
    };
    follow({ path, accept: "application/x-ndjson" }, take, gone.signal).catch((error: unknown) => {
      if (gone.signal.aborted) return;
      if (error instanceof ApiFailure) setFailure(error);
      // A stream that ends by itself: the collector stopped.
      else noteSilence();
    });
    return () => {
      clearInterval(timer);
      gone.abort();
    };
  }, [path, isOn, comebacks, again]);

  return { records, counts, failure, clear: () => setRecords([]), retry: () => setAgain((count) => count + 1) };
}
