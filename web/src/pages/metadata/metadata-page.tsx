import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import type { Entry } from "../../api/entry.ts";
import { useQueryState } from "../../navigation/place.ts";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { historyCall } from "./history-call.ts";
import { HistoryView } from "./history-view.tsx";
import { importCall } from "./import-answer.ts";
import { ImportView } from "./import-view.tsx";
import { countCall, searchOf, tableCall, TableView } from "./table-view.tsx";
import { treeCall, TreeView } from "./tree-view.tsx";
import "./metadata.css";

const views = [
  ["", "Table"],
  ["tree", "Tree"],
  ["history", "History"],
  ["import", "Import"],
] as const;

const sample = {
  text: "key,name\n10.0.0.1,gateway\n",
  format: "csv",
  map: "",
  scope: undefined,
  skipFaultyRows: false,
};

function callsOf(view: string, query: URLSearchParams): readonly ApiCall[] {
  if (view === "tree") return [treeCall];
  if (view === "history") return [historyCall(query.get("key") ?? "")];
  if (view === "import") return [importCall(sample, true)];
  return [tableCall(searchOf(query)), countCall];
}

/** The names of addresses: a table, a tree, who changed what, and sheets to bring in. */
export default function MetadataPage(): JSX.Element {
  const [query, setQuery] = useQueryState();
  const asked = query.get("view") ?? "";
  const view = views.some(([name]) => name === asked) ? asked : "";
  const [turn, setTurn] = useState(0);
  const [said, setSaid] = useState("");
  const [edited, setEdited] = useState<{ readonly entry: Entry; readonly isNew: boolean } | undefined>(undefined);
  const changed = (what: string): void => {
    setSaid(what);
    setTurn((count) => count + 1);
  };
  const edit = (entry: Entry, isNew: boolean): void => {
    setSaid("");
    setEdited({ entry, isNew });
  };
  return (
    <Page
      title="Metadata"
      lead="The names, tags and values that records get by their addresses."
      calls={callsOf(view, query)}
    >
      <div class="views" role="group" aria-label="Views">
        {views.map(([name, label]) => (
          <button
            key={name}
            type="button"
            class="button"
            aria-pressed={view === name}
            onClick={() => setQuery({ view: name })}
          >
            {label}
          </button>
        ))}
      </div>
      <div role="status" aria-live="polite">
        {said !== "" && <p class="state good">{said}.</p>}
      </div>
      {view === "" && <TableView turn={turn} edit={edit} changed={changed} />}
      {view === "tree" && <TreeView turn={turn} edit={(entry) => edit(entry, false)} />}
      {view === "history" && <HistoryView turn={turn} changed={changed} />}
      {view === "import" && <ImportView changed={changed} />}
      {edited !== undefined && (
        <EntryDialog entry={edited.entry} isNew={edited.isNew} onClose={() => setEdited(undefined)} changed={changed} />
      )}
    </Page>
  );
}
