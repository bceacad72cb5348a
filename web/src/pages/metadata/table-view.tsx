import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFailure } from "../../api/api-failure.ts";
import { udmPath, type ApiCall } from "../../api/call.ts";
import { readEntry, saveEntry, searchCall } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { useQueryState } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure } from "../../ui/states.tsx";
import { withCode } from "../../ui/with-code.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { pageSize, type EntrySearch } from "./entry-pages.ts";
import { EntryTable } from "./entry-table.tsx";
import { SearchBar } from "./search-bar.tsx";
import { useEntryPages } from "./use-entry-pages.ts";

export const countCall: ApiCall = { path: udmPath("CountUdms"), body: {} };

/** What the address bar asks for. */
export function searchOf(query: URLSearchParams): EntrySearch {
  const [filter, within] = [(query.get("filter") ?? "").trim(), (query.get("within") ?? "").trim()];
  const terms = [
    ...(within === "" ? [] : [`key in ${within}`]),
    ...(filter === "" ? [] : [within === "" ? filter : `(${filter})`]),
  ];
  return { filter: terms.join(" and "), text: (query.get("text") ?? "").trim(), order: query.get("order") ?? "" };
}

export const tableCall = (search: EntrySearch): ApiCall => searchCall({ ...search, pageSize });

export interface TableViewProps {
  readonly turn: number;
  readonly edit: (entry: Entry, isNew: boolean) => void;
  /** Something has changed: the text says what. */
  readonly changed: (what: string) => void;
}

/** All entries that a search finds, to be read, selected and edited. */
export function TableView({ turn, edit, changed }: TableViewProps): JSX.Element {
  const [query] = useQueryState();
  const search = searchOf(query);
  const loaded = useEntryPages(search, turn);
  const total = useTurnedCall<{ count?: number }>(countCall, turn);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const isWhole = search.filter === "" && search.text === "";

  const select = (keys: readonly string[], isSelected: boolean): void => {
    const next = new Set(selected);
    for (const key of keys) {
      if (isSelected) next.add(key);
      else next.delete(key);
    }
    setSelected(next);
  };
  const save = async (entry: Entry, known: Entry): Promise<void> => {
    setFailure(undefined);
    try {
      await saveEntry(entry, known);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      setFailure(error);
    }
    // What others have made of it is shown, too.
    loaded.pages.replace(entry.key, await readEntry(entry.key));
  };

  const isSearchFault = loaded.failure?.status === 400;
  const isUnreadable = loaded.failure?.status === 404 || loaded.failure?.status === 501;
  const isEmpty = loaded.isLoaded && loaded.pages.known === 0 && !loaded.pages.hasMore;
  return (
    <Section
      title="Entries"
      actions={
        <ActionButton needs="editor" area="metadata" kind="primary" onAction={() => edit({ key: "" }, true)}>
          New entry …
        </ActionButton>
      }
    >
      <SearchBar fault={isSearchFault ? loaded.failure?.message : undefined} />
      {failure !== undefined && (
        <Failure
          failure={
            failure.code === "failed_precondition"
              ? new ApiFailure(
                  "refused",
                  "Somebody else has changed this entry meanwhile. Nothing was saved; the row shows it as it is now",
                )
              : failure
          }
        />
      )}
      {loaded.failure !== undefined && !isSearchFault && !isUnreadable && (
        <Failure failure={loaded.failure} retry={loaded.retry} />
      )}
      {isUnreadable ? (
        <Empty title="The metadata cannot be read here">{withCode(loaded.failure?.message ?? "")}</Empty>
      ) : isEmpty && isWhole ? (
        <Empty title="There are no entries yet">
          Make the first with "New entry", or bring in a sheet of your address plan with "Import".
        </Empty>
      ) : isEmpty ? (
        <Empty title="No entry is like this">Try other words, or another filter.</Empty>
      ) : (
        loaded.failure === undefined && (
          <>
            <BulkBar selected={selected} setSelected={setSelected} pages={loaded.pages} changed={changed} />
            <EntryTable
              loaded={loaded}
              total={isWhole ? total.answer?.count : undefined}
              selected={selected}
              select={select}
              open={(entry) => edit(entry, false)}
              save={save}
            />
          </>
        )
      )}
    </Section>
  );
}
