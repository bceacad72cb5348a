import type { JSX } from "preact";
import { termsOf } from "../../format/filter-terms.ts";
import { shortened } from "../../format/shortened.ts";

export interface BreadcrumbProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

/** The way that the filter has narrowed the traffic, term by term: each step leads back to it. */
export function Breadcrumb({ filter, onFilter }: BreadcrumbProps): JSX.Element | null {
  const terms = termsOf(filter);
  if (terms.length === 0) return null;
  return (
    <nav class="breadcrumb on-screen" aria-label="Narrowed to">
      <ol>
        <li>
          <button type="button" onClick={() => onFilter("")}>
            All traffic
          </button>
        </li>
        {terms.map((term, at) => (
          <li key={term}>
            {at === terms.length - 1 ? (
              <span aria-current="step" title={term}>
                {shortened(term, 60)}
              </span>
            ) : (
              <button type="button" title={term} onClick={() => onFilter(terms.slice(0, at + 1).join(" and "))}>
                {shortened(term, 60)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
