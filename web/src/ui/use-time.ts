import { keptFrom } from "../api/explore.ts";
import { addressOf, askedOf, choiceOf, type AskedTime, type TimeChoice } from "../format/time-choice.ts";
import { useQueryState, type QueryValues } from "../navigation/place.ts";
import { useZone } from "./time-zone.ts";

/** Seconds after which what goes on until now is asked again; 0 is never. */
export const refreshSeconds = [0, 10, 30, 60, 300] as const;
const usualRefresh = 30;

/** The time of a page, as its address has it. */
export interface PageTime {
  readonly choice: TimeChoice;
  readonly choose: (choice: TimeChoice) => void;
  /** For queries: what ends now begins where the store does, when that is later. */
  readonly asked: AskedTime;
  readonly isLive: boolean;
  readonly refresh: number;
  readonly chooseRefresh: (seconds: number) => void;
  /** For `useCall`: how often it asks again. */
  readonly every: { readonly everyMs?: number };
}

const lastHour: AskedTime = { from: "-1h", to: "now" };

/** @param storeFrom since when there is something to look back at, RFC 3339. @param usual the time of an address that says none. */
export function usePageTime(storeFrom: string | undefined, usual = lastHour): PageTime {
  const [query, setQuery] = useQueryState();
  const zone = useZone();
  const now = Date.now();
  const given = query.get("from");
  const choice = given === null ? choiceOf(usual.from, usual.to) : choiceOf(given, query.get("to") ?? undefined);
  const { from, to } = askedOf(choice, now, zone);
  const isLive = to === "now";
  const wanted = Number(query.get("refresh") ?? usualRefresh);
  const refresh = refreshSeconds.find((seconds) => seconds === wanted) ?? usualRefresh;
  return {
    choice,
    choose: (next) => setQuery(addressValues(next, usual)),
    asked: { from: isLive ? keptFrom(from, storeFrom, now) : from, to },
    isLive,
    refresh,
    chooseRefresh: (seconds) =>
      setQuery({ refresh: seconds === usualRefresh ? undefined : seconds }, { replace: true }),
    every: isLive && refresh > 0 ? { everyMs: refresh * 1000 } : {},
  };
}

/** What the address says for a time: only what is not as at first. */
function addressValues(choice: TimeChoice, usual: AskedTime): QueryValues {
  const { from, to } = addressOf(choice);
  const isUsual = from === usual.from && to === usual.to;
  return { from: isUsual ? undefined : from, to: isUsual || to === "now" ? undefined : to };
}

/** The time of a page, for a link to another one. */
export const timeQuery = ({ choice }: PageTime): QueryValues => addressValues(choice, lastHour);
