import type { JSX } from "preact";
import { splitTags } from "../../api/entries.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { ColumnTable } from "./column-table.tsx";
import { columnMap, type SheetHead, type Target } from "./sheet.ts";

/** What somebody has chosen for a sheet. */
export interface Options {
  /** `own`, or the name of a ready map. */
  readonly map: string;
  readonly targets: readonly Target[];
  /** For all entries of the sheet. */
  readonly tags: string;
  readonly scope: "none" | "all" | "within" | "tag";
  readonly scopeText: string;
  readonly skipFaultyRows: boolean;
}

export const mapOf = ({ map, targets, tags }: Options, columns: readonly string[]): string =>
  map === "own" ? columnMap(columns, targets, splitTags(tags)) : map;

export function scopeOf({ scope, scopeText }: Options): Readonly<Record<string, unknown>> | undefined {
  if (scope === "none") return undefined;
  return scope === "all" ? { all: true } : { [scope]: scopeText.trim() };
}

const maps = [
  ["own", "my own mapping of columns"],
  ["netgloss", "netgloss (what it exports)"],
  ["sheet", "a plain sheet: address, name, tags, …"],
  ["netbox", "NetBox"],
  ["phpipam", "phpIPAM"],
  ["infoblox", "Infoblox"],
  ["netdisco", "Netdisco"],
] as const;

const scopes = [
  ["none", "stay as they are"],
  ["within", "within a prefix are deleted"],
  ["tag", "with a tag are deleted"],
  ["all", "are deleted"],
] as const;

export interface ImportOptionsProps {
  readonly format: string;
  readonly head: SheetHead;
  readonly options: Options;
  readonly change: (options: Options) => void;
  readonly check: () => Promise<void>;
  readonly isBusy: boolean;
}

/** How the columns become fields, and what happens to entries that the sheet does not have. */
export function ImportOptions({ format, head, options, change, check, isBusy }: ImportOptionsProps): JSX.Element {
  const set = (part: Partial<Options>): void => change({ ...options, ...part });
  const isOwn = options.map === "own";
  const hasKey = options.targets.includes("key");
  const needsText = options.scope === "within" || options.scope === "tag";
  const lack =
    isOwn && !hasKey
      ? "Say first which column has the addresses."
      : needsText && options.scopeText.trim() === ""
        ? "Enter the prefix or the tag first."
        : undefined;
  return (
    <div class="import-options">
      <div class="bar">
        <label class="field grow">
          Columns
          <select value={options.map} onChange={(event) => set({ map: event.currentTarget.value })}>
            {maps
              .filter(([map]) => map !== "own" || format === "csv")
              .map(([map, label]) => (
                <option key={map} value={map}>
                  {label}
                </option>
              ))}
          </select>
        </label>
        <label class="field grow">
          Other entries
          <select
            value={options.scope}
            onChange={(event) => set({ scope: event.currentTarget.value as Options["scope"] })}
          >
            {scopes.map(([scope, label]) => (
              <option key={scope} value={scope}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {needsText && (
          <label class="field">
            {options.scope === "tag" ? "Tag" : "Prefix"}
            <input value={options.scopeText} onInput={(event) => set({ scopeText: event.currentTarget.value })} />
          </label>
        )}
        {isOwn && (
          <label class="field">
            Tags for all of them
            <input value={options.tags} onInput={(event) => set({ tags: event.currentTarget.value })} />
          </label>
        )}
      </div>
      {isOwn && <ColumnTable head={head} targets={options.targets} change={(targets) => set({ targets })} />}
      <div class="bar">
        <label class="check">
          <input
            type="checkbox"
            checked={options.skipFaultyRows}
            onChange={(event) => set({ skipFaultyRows: event.currentTarget.checked })}
          />{" "}
          Leave out rows with faults
        </label>
        <ActionButton needs="editor" area="metadata" kind="primary" lack={lack} onAction={check}>
          {isBusy ? "Checking …" : "See what would change"}
        </ActionButton>
      </div>
    </div>
  );
}
