import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useQueryState } from "../../navigation/place.ts";

/** How long somebody has to stop typing before it is searched, milliseconds. */
const pauseMs = 250;
const names = ["text", "within", "filter"] as const;
type Name = (typeof names)[number];

/** Words, a prefix, and an expression of the language of filters. */
export function SearchBar({ fault }: { readonly fault: string | undefined }): JSX.Element {
  const [query, setQuery] = useQueryState();
  return (
    <>
      <div class="bar">
        <Field name="text" label="Find" placeholder="in keys, names, tags, values" isWide />
        <Field name="within" label="Within" placeholder="10.0.0.0/8" />
        <Field name="filter" label="Filter" placeholder="tag = pci and not vlan exists" isWide fault={fault} />
        <label class="field">
          Order
          <select value={query.get("order") ?? ""} onChange={(event) => setQuery({ order: event.currentTarget.value })}>
            <option value="">by key</option>
            <option value="name">by name</option>
            <option value="-name">by name, last first</option>
            <option value="vlan">by VLAN</option>
          </select>
        </label>
        {names.some((name) => query.has(name)) && (
          <button
            type="button"
            class="button"
            onClick={() => setQuery({ text: undefined, within: undefined, filter: undefined })}
          >
            Clear
          </button>
        )}
      </div>
      {fault !== undefined && (
        <p class="fault" role="alert" id="filter-fault">
          {fault}
        </p>
      )}
    </>
  );
}

interface FieldProps {
  readonly name: Name;
  readonly label: string;
  readonly placeholder: string;
  readonly isWide?: boolean;
  readonly fault?: string | undefined;
}

function Field({ name, label, placeholder, isWide = false, fault }: FieldProps): JSX.Element {
  const [query, setQuery] = useQueryState();
  const shown = query.get(name) ?? "";
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    if (text === shown) return undefined;
    const timer = setTimeout(() => setQuery({ [name]: text }, { replace: true }), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class={isWide ? "field grow" : "field"}>
      {label}
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : "filter-fault"}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
