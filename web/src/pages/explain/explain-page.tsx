import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Entry } from "../../api/entries.ts";
import { hrefOf, usePlace } from "../../navigation/place.ts";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { AddressCard, explainCall } from "./address-card.tsx";
import { EntriesCard, entriesCall } from "./entries-card.tsx";
import { flowsCall } from "./last-flows.tsx";
import { whatIsAsked } from "./what-is-asked.ts";
import "./explain.css";

/** What an address, a prefix, a name or a tag is, and why it is called so. */
export default function ExplainPage(): JSX.Element {
  const { query } = usePlace();
  const text = query.get("q") ?? "";
  const asked = whatIsAsked(text);
  const [turn, setTurn] = useState(0);
  const [edited, setEdited] = useState<{ readonly entry: Entry; readonly isNew: boolean } | undefined>(undefined);
  const [said, setSaid] = useState("");
  const edit = (entry: Entry, isNew: boolean): void => {
    setSaid("");
    setEdited({ entry, isNew });
  };
  const calls =
    asked.kind === "address"
      ? [explainCall(asked.text), flowsCall(`addr = ${asked.text}`)]
      : asked.kind === "nothing"
        ? [explainCall("192.0.2.1")]
        : [entriesCall(asked)];
  return (
    <Page title="Explain" lead="What an address, a prefix, a name or a tag is, and why it is called so." calls={calls}>
      <div role="status" aria-live="polite">
        {said !== "" && <p class="state good">{said}. The next flow carries it.</p>}
      </div>
      {asked.kind === "nothing" && (
        <Empty title="Enter something in the box above">
          An address (<a href={hrefOf("explain", { q: "10.1.2.3" })}>10.1.2.3</a>), a prefix (
          <a href={hrefOf("explain", { q: "10.0.0.0/8" })}>10.0.0.0/8</a>), a name or a tag. The key <kbd>/</kbd> jumps
          into the box from every page.
        </Empty>
      )}
      {asked.kind === "address" && <AddressCard key={asked.text} ip={asked.text} turn={turn} edit={edit} />}
      {(asked.kind === "prefix" || asked.kind === "words") && (
        <EntriesCard key={asked.text} asked={asked} turn={turn} edit={edit} />
      )}
      {edited !== undefined && (
        <EntryDialog
          entry={edited.entry}
          isNew={edited.isNew}
          onClose={() => setEdited(undefined)}
          changed={(what) => {
            setSaid(what);
            setTurn((count) => count + 1);
          }}
        />
      )}
    </Page>
  );
}
