import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { alertsCall } from "../api/alerts.ts";
import type { ListAlertsAnswer } from "../api/answers.gen.ts";
import { useIsLimited, useLack } from "../api/session.ts";
import { useCall } from "../api/use-call.ts";
import { hrefOf } from "../navigation/place.ts";
import { offeredPages } from "./page-table.ts";

/** The pages, the current one marked, and in sight where the list is wider than the screen. */
export function SideBar({
  current,
  isKnown,
}: {
  readonly current: string | undefined;
  /** Whether it is known who looks: before that nothing is asked for. */
  readonly isKnown: boolean;
}): JSX.Element {
  const isLimited = useIsLimited();
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (bar.current === null || link === null || link === undefined) return;
    const { left, width } = link.getBoundingClientRect();
    const { left: barLeft, width: barWidth } = bar.current.getBoundingClientRect();
    bar.current.scrollLeft += left - barLeft - (barWidth - width) / 2;
  }, [current]);
  return (
    <nav ref={bar} class="side" aria-label="Pages">
      <a class="brand" href={hrefOf("")} aria-label="netgloss, to the Overview">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <rect width="32" height="32" rx="7" class="brand-back" />
          <path d="M8 22V11l11 11V11M23 10v7" class="brand-line" />
          <circle cx="23" cy="22" r="2" class="brand-dot" />
        </svg>
        <span>netgloss</span>
      </a>
      <ul>
        {offeredPages(isLimited).map(({ path, label }) => (
          <li key={path}>
            <a href={hrefOf(path)} aria-current={path === current ? "page" : undefined}>
              {label}
              {path === "alerts" && isKnown && <FiringCount />}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const countCall = alertsCall({ state: "firing", limit: 1 });

/** How many alerts fire; nothing where there are none, or who looks may not see them. */
function FiringCount(): JSX.Element | null {
  const mayAsk = useLack("viewer", "flow") === undefined;
  const { answer } = useCall<ListAlertsAnswer>(mayAsk ? countCall : undefined, { everyMs: 15_000 });
  if (answer === undefined || answer.firing === 0) return null;
  return (
    <>
      {" "}
      <span class="count">
        {answer.firing}
        <span class="hidden"> firing</span>
      </span>
    </>
  );
}
