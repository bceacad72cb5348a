import type { ComponentChildren, JSX } from "preact";

export interface TileProps {
  readonly label: string;
  readonly value: ComponentChildren;
  /** Below the value: what it means. */
  readonly detail?: ComponentChildren;
  /** The page that explains it. */
  readonly href?: string;
  /** `bad` and `warn` have a mark and a word as well as a colour. */
  readonly state?: "good" | "warn" | "bad" | undefined;
}

const marks = { good: "✓", warn: "!", bad: "✕" } as const;
const words = { good: "fine", warn: "look at this", bad: "wrong" } as const;

/** One large number that leads to the page that explains it. */
export function Tile({ label, value, detail, href, state }: TileProps): JSX.Element {
  const content = (
    <>
      <span class="tile-label">
        {state !== undefined && (
          <span class={`mark ${state}`} role="img" aria-label={words[state]}>
            {marks[state]}
          </span>
        )}
        {label}
      </span>
      <span class="tile-value">{value}</span>
      {detail !== undefined && <span class="tile-detail">{detail}</span>}
    </>
  );
  return href === undefined ? (
    <div class="tile">{content}</div>
  ) : (
    <a class="tile" href={href}>
      {content}
    </a>
  );
}

/** A short word with a colour: `working`, `failing`. */
export function Badge({
  state,
  children,
}: {
  readonly state: "good" | "warn" | "bad" | "plain";
  readonly children: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${state}`}>{children}</span>;
}
