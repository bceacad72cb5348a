import type { JSX } from "preact";
import type { EntryChange } from "../api/entries.ts";
import type { Entry } from "../api/entry.ts";

/** A change of an entry, a line for each value: what goes, what comes. */
export function EntryDiff({ change: { key, before, after } }: { readonly change: EntryChange }): JSX.Element {
  const [old, next] = [valuesOf(before), valuesOf(after)];
  const names = [...new Set([...old.keys(), ...next.keys()])];
  const sign = before === undefined ? "+" : after === undefined ? "−" : "~";
  const kind = { "+": "added", "−": "removed", "~": "changed" }[sign];
  return (
    <ul class="diff">
      <li class={kind}>
        {sign} {key}
        <span class="hidden"> ({kind})</span>
      </li>
      {names.map((name) => (
        <ValueDiff key={name} name={name} was={old.get(name)} becomes={next.get(name)} />
      ))}
    </ul>
  );
}

interface ValueDiffProps {
  readonly name: string;
  readonly was: string | undefined;
  readonly becomes: string | undefined;
}

function ValueDiff({ name, was, becomes }: ValueDiffProps): JSX.Element | null {
  if (was === becomes) return null;
  return (
    <>
      {was !== undefined && <li class="removed">{`    − ${name}: ${was}`}</li>}
      {becomes !== undefined && <li class="added">{`    + ${name}: ${becomes}`}</li>}
    </>
  );
}

function valuesOf(entry: Entry | undefined): ReadonlyMap<string, string> {
  if (entry === undefined) return new Map();
  const { name = "", tags = [], vlan = "", internal = false, metadata = {}, contexts = [] } = entry;
  const all: readonly (readonly [string, string])[] = [
    ["name", name],
    ["tags", tags.join(", ")],
    ["vlan", vlan],
    ["internal", internal ? "true" : ""],
    ["contexts", contexts.join(", ")],
    ...Object.entries(metadata).map(([one, value]) => [`metadata ${one}`, value] as const),
  ];
  return new Map(all.filter(([, value]) => value !== ""));
}
