import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ApiCall } from "../api/call.ts";
import { AsCurl } from "./as-curl.tsx";

export interface PageProps {
  readonly title: string;
  /** One sentence on what the page shows. */
  readonly lead?: ComponentChildren;
  /** What the page asks, for "as curl". */
  readonly calls: readonly ApiCall[];
  /** Buttons next to the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What every page has: its title, which is the tab's too, its calls, its content. */
export function Page({ title, lead, calls, actions, children }: PageProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} – netgloss`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        <div class="page-actions">
          {actions}
          <AsCurl calls={calls} />
        </div>
      </header>
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="card">
      <header class="card-head">
        <h2>{title}</h2>
        {note !== undefined && note !== false && <span class="note">{note}</span>}
        {actions !== undefined && <div class="card-actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
