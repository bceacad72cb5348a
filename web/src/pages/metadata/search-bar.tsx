import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { FilterBox } from "../../ui/filter-box.tsx";
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
        <FilterField fault={fault} />
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
}

/** A part of the address that follows what is typed. */
function useTyped(name: Name): readonly [string, (text: string) => void] {
  const [query, setQuery] = useQueryState();
  const shown = query.get(name) ?? "";
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    if (text === shown) return undefined;
    const timer = setTimeout(() => setQuery({ [name]: text }, { replace: true }), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}

function FilterField({ fault }: { readonly fault: string | undefined }): JSX.Element {
  const [text, setText] = useTyped("filter");
  return (
    <div class="field grow">
      <span aria-hidden="true">Filter</span>
      <FilterBox
        of="metadata"
        text={text}
        placeholder="tag = pci and not vlan exists"
        onText={setText}
        isInvalid={fault !== undefined}
        describedBy={fault === undefined ? undefined : "filter-fault"}
      />
    </div>
  );
}

function Field({ name, label, placeholder, isWide = false }: FieldProps): JSX.Element {
  const [text, setText] = useTyped(name);
  return (
    <label class={isWide ? "field grow" : "field"}>
      {label}
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
