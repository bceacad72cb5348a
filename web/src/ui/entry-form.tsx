import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { FieldViolation } from "../api/api-failure.ts";
import { splitTags } from "../api/entries.ts";
import type { Entry } from "../api/entry.ts";

/** What stands in the fields of the form. */
export interface EntryDraft {
  readonly key: string;
  readonly name: string;
  readonly tags: string;
  readonly vlan: string;
  readonly internal: boolean;
  readonly contexts: readonly string[];
  readonly metadata: readonly (readonly [name: string, value: string])[];
}

export function draftOf(entry: Entry): EntryDraft {
  const { key, name = "", tags = [], vlan = "", internal = false, contexts = [], metadata = {} } = entry;
  return { key, name, tags: tags.join(", "), vlan, internal, contexts, metadata: Object.entries(metadata) };
}

export function entryOf({ key, name, tags, vlan, internal, contexts, metadata }: EntryDraft): Entry {
  const pairs = metadata.filter(([one, value]) => one !== "" || value !== "");
  return {
    key: key.trim(),
    name: name.trim(),
    tags: splitTags(tags),
    ...(vlan.trim() !== "" && { vlan: vlan.trim() }),
    internal,
    contexts,
    metadata: Object.fromEntries(pairs),
  };
}

export interface EntryFormProps {
  readonly draft: EntryDraft;
  readonly setDraft: (draft: EntryDraft) => void;
  /** A new entry: its key is written, too. */
  readonly isNew: boolean;
  readonly violations: readonly FieldViolation[];
}

/** The fields of an entry, each with what the server found wrong with it. */
export function EntryForm({ draft, setDraft, isNew, violations }: EntryFormProps): JSX.Element {
  const set = (change: Partial<EntryDraft>): void => setDraft({ ...draft, ...change });
  const faultOf = (field: string): string | undefined =>
    violations.find((one) => one.field.includes(field))?.description;
  return (
    <div class="form entry-form">
      <TextField
        label="Address, prefix or range"
        value={draft.key}
        onText={(key) => set({ key })}
        fault={faultOf("udm.key")}
        isFixed={!isNew}
        hasFocus={isNew && draft.key === ""}
      />
      <TextField
        label="Name"
        value={draft.name}
        onText={(name) => set({ name })}
        fault={faultOf("name")}
        hasFocus={!isNew || draft.key !== ""}
      />
      <TextField
        label="Tags, with commas between"
        value={draft.tags}
        onText={(tags) => set({ tags })}
        fault={faultOf("tags")}
      />
      <div class="bar">
        <TextField label="VLAN" value={draft.vlan} onText={(vlan) => set({ vlan })} fault={faultOf("vlan")} />
        <label class="check">
          <input
            type="checkbox"
            checked={draft.internal}
            onChange={(event) => set({ internal: event.currentTarget.checked })}
          />{" "}
          Internal
        </label>
      </div>
      <Contexts chosen={draft.contexts} onChoice={(contexts) => set({ contexts })} />
      <Metadata pairs={draft.metadata} onPairs={(metadata) => set({ metadata })} fault={faultOf("metadata")} />
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly fault: string | undefined;
  readonly isFixed?: boolean;
  readonly hasFocus?: boolean;
}

function TextField({ label, value, onText, fault, isFixed = false, hasFocus = false }: TextFieldProps): JSX.Element {
  const id = useId();
  return (
    <label class="field">
      {label}
      <input
        value={value}
        readOnly={isFixed}
        // The dialog gives the focus to the field that has this.
        autofocus={hasFocus}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : id}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <span id={id} class="fault">
          {fault}
        </span>
      )}
    </label>
  );
}

const contextNames = [
  ["endpoint", "sources and destinations of flows"],
  ["exporter", "exporters and SNMP devices"],
] as const;

function Contexts({
  chosen,
  onChoice,
}: {
  readonly chosen: readonly string[];
  readonly onChoice: (contexts: readonly string[]) => void;
}): JSX.Element {
  return (
    <fieldset>
      <legend>Applies to (none: everywhere)</legend>
      {contextNames.map(([context, label]) => (
        <label key={context} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(context)}
            onChange={(event) =>
              onChoice(event.currentTarget.checked ? [...chosen, context] : chosen.filter((one) => one !== context))
            }
          />{" "}
          {label}
        </label>
      ))}
    </fieldset>
  );
}

function Metadata({
  pairs,
  onPairs,
  fault,
}: {
  readonly pairs: EntryDraft["metadata"];
  readonly onPairs: (pairs: EntryDraft["metadata"]) => void;
  readonly fault: string | undefined;
}): JSX.Element {
  const set = (at: number, pair: readonly [string, string]): void => onPairs(pairs.with(at, pair));
  return (
    <fieldset>
      <legend>Metadata</legend>
      {pairs.map(([name, value], at) => (
        // Pairs have no identity but their place.
        <div key={at} class="pair">
          <input
            value={name}
            aria-label={`Name ${at + 1}`}
            placeholder="name"
            onInput={(event) => set(at, [event.currentTarget.value, value])}
          />
          <input
            value={value}
            aria-label={`Value of ${name === "" ? `name ${at + 1}` : name}`}
            placeholder="value"
            onInput={(event) => set(at, [name, event.currentTarget.value])}
          />
          <button
            type="button"
            class="button quiet"
            aria-label={`Remove ${name === "" ? `line ${at + 1}` : name}`}
            onClick={() => onPairs(pairs.toSpliced(at, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      {fault !== undefined && <p class="fault">{fault}</p>}
      <button type="button" class="button quiet" onClick={() => onPairs([...pairs, ["", ""]])}>
        + Add a value
      </button>
    </fieldset>
  );
}
