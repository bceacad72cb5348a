import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { FilterBox } from "./filter-box.tsx";
import { FilterHelp } from "./filter-help.tsx";
import { termsOf, withoutTerm } from "../format/filter-terms.ts";

export interface FilterInputProps {
  readonly value: string;
  readonly onChange: (filter: string) => void;
  /** What the server says is wrong with it: `filter 1:5: …`. */
  readonly fault?: string | undefined;
}

/** A filter of docs/filters.md: typed, put to use by Enter, its terms taken away one by one. */
export function FilterInput({ value, onChange, fault }: FilterInputProps): JSX.Element {
  const [text, setText] = useState(value);
  const id = useId();
  useEffect(() => setText(value), [value]);
  const terms = termsOf(value);
  return (
    <div class="filter">
      <form
        class="filter-line"
        onSubmit={(event) => {
          event.preventDefault();
          onChange(text.trim());
        }}
      >
        <div class="field grow">
          <span aria-hidden="true">Filter</span>
          <FilterBox
            text={text}
            onText={setText}
            isInvalid={fault !== undefined}
            describedBy={fault === undefined ? undefined : id}
          />
        </div>
        <button class="button">Apply</button>
        <FilterHelp />
      </form>
      {fault !== undefined && (
        <p id={id} class="fault" role="alert">
          {fault}
        </p>
      )}
      {fault === undefined && terms.length > 0 && (
        <ul class="terms" aria-label="Terms of the filter">
          {terms.map((term, index) => (
            <li key={term}>
              <code>{term}</code>
              <button type="button" aria-label={`Remove ${term}`} onClick={() => onChange(withoutTerm(value, index))}>
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
