import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import type { SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { hrefOf, usePlace } from "../../navigation/place.ts";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../ui/states.tsx";
import { AddressCard, explainCall } from "./address-card.tsx";
import { coverCall, EntriesCard, entriesCall } from "./entries-card.tsx";
import { flowsOf } from "./flows-of.ts";
import { flowsCall } from "./last-flows.tsx";
import { locateCall } from "./switch-port.tsx";
import { whatIsAsked, type Asked } from "./what-is-asked.ts";
import "./explain.css";

/** What an address, a prefix, a name or a tag is, and why it is called so. */
export default function ExplainPage(): JSX.Element {
  const { query } = usePlace();
  const text = query.get("q") ?? "";
  return <Explained key={text} asked={whatIsAsked(text)} />;
}

function Explained({ asked }: { readonly asked: Asked }): JSX.Element {
  const [turn, setTurn] = useState(0);
  const [edited, setEdited] = useState<{ readonly entry: Entry; readonly isNew: boolean } | undefined>(undefined);
  const [said, setSaid] = useState("");
  const edit = (entry: Entry, isNew: boolean): void => {
    setSaid("");
    setEdited({ entry, isNew });
  };
  const listed = asked.kind === "prefix" || asked.kind === "words" ? asked : undefined;
  const found = useTurnedCall<SearchAnswer>(listed && entriesCall(listed), turn);
  const flowFilter = listed && flowsOf(listed, found.answer?.udms ?? []);
  return (
    <Page
      title="Explain"
      lead="What an address, a prefix, a name or a tag is, and why it is called so."
      calls={callsOf(asked, flowFilter)}
    >
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
      {asked.kind === "address" && <AddressCard ip={asked.text} turn={turn} edit={edit} />}
      {listed !== undefined && flowFilter !== undefined && (
        <EntriesCard asked={listed} found={found} flowFilter={flowFilter} turn={turn} edit={edit} />
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

function callsOf(asked: Asked, flowFilter = ""): readonly ApiCall[] {
  if (asked.kind === "nothing") return [explainCall("192.0.2.1")];
  if (asked.kind === "address")
    return [explainCall(asked.text), locateCall(asked.text), flowsCall(`addr = ${asked.text}`)];
  const { kind, text } = asked;
  const cover = coverCall({ kind, text });
  return [entriesCall({ kind, text }), ...(cover === undefined ? [] : [cover]), flowsCall(flowFilter)];
}
