import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import type { SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { hrefOfText, navigate, usePlace } from "../../navigation/place.ts";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loading } from "../../ui/states.tsx";
import { explainCall } from "./address-card.tsx";
import { EntriesCard, entriesCall } from "./entries-card.tsx";
import { flowsOf } from "./flows-of.ts";
import { flowsCall } from "./last-flows.tsx";
import { whatIsAsked, type Asked } from "../../format/what-is-asked.ts";
import "./explain.css";

/** Looks for a name, a tag or a part of one; an address and a prefix have pages of their own. */
export default function ExplainPage(): JSX.Element {
  const { query } = usePlace();
  const text = query.get("q") ?? "";
  const asked = whatIsAsked(text);
  const isElsewhere = asked.kind === "address" || asked.kind === "prefix";
  useEffect(() => {
    if (isElsewhere) navigate(hrefOfText(text), { replace: true });
  }, [text, isElsewhere]);
  return isElsewhere ? <Loading /> : <Explained key={text} asked={asked} />;
}

type AskedWords = Exclude<Asked, { readonly kind: "address" | "prefix" }>;

function Explained({ asked }: { readonly asked: AskedWords }): JSX.Element {
  const [turn, setTurn] = useState(0);
  const [edited, setEdited] = useState<{ readonly entry: Entry; readonly isNew: boolean } | undefined>(undefined);
  const [said, setSaid] = useState("");
  const edit = (entry: Entry, isNew: boolean): void => {
    setSaid("");
    setEdited({ entry, isNew });
  };
  const listed = asked.kind === "words" ? asked : undefined;
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
          An address (<a href={hrefOfText("10.1.2.3")}>10.1.2.3</a>), a prefix (
          <a href={hrefOfText("10.0.0.0/8")}>10.0.0.0/8</a>), a name or a tag. The key <kbd>/</kbd> jumps into the box
          from every page.
        </Empty>
      )}
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

function callsOf(asked: AskedWords, flowFilter = ""): readonly ApiCall[] {
  if (asked.kind === "nothing") return [explainCall("192.0.2.1")];
  return [entriesCall(asked), flowsCall(flowFilter)];
}
