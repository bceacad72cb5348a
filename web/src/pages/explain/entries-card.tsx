import type { JSX } from "preact";
import { searchCall, type SearchAnswer } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import type { ApiCall } from "../../api/call.ts";
import type { Loaded } from "../../api/use-call.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { formatAddress, spanOf } from "../../format/addresses.ts";
import { formatWhole } from "../../format/numbers.ts";
import { hrefOf, hrefOfText } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { explainCall } from "./address-card.tsx";
import { EntryList } from "./entry-list.tsx";
import { type Explanation } from "./explanation.ts";
import { LastFlows } from "./last-flows.tsx";
import { widerEntries } from "./wider-entries.ts";
import type { Asked } from "../../format/what-is-asked.ts";

export type AskedEntries = Asked & { readonly kind: "prefix" | "words" };

/** Entries that are listed here; the page Metadata has all. */
const pageSize = 100;

/** What is searched for words, or by a filter. */
export function entriesCall({ text }: AskedEntries, filter?: string): ApiCall {
  return searchCall({ ...(filter === undefined ? { text } : { filter }), layers: true, pageSize });
}

/** What covers a prefix covers its first address; undefined for words, and for what the collector refuses. */
export function coverCall({ kind, text }: AskedEntries): ApiCall | undefined {
  const span = kind === "prefix" ? spanOf(text) : undefined;
  return span && explainCall(formatAddress(span.family, span.first));
}

export interface EntriesCardProps {
  readonly asked: AskedEntries;
  /** What {@link entriesCall} found. */
  readonly found: Loaded<SearchAnswer>;
  /** Of the flows that belong to it, where they are to be shown with it. */
  readonly flowFilter?: string;
  /** Grows with each change of the metadata. */
  readonly turn: number;
  readonly edit: (entry: Entry, isNew: boolean) => void;
}

/** What a prefix is called and holds, or which entries have a name or a tag. */
export function EntriesCard({ asked, found, flowFilter, turn, edit }: EntriesCardProps): JSX.Element {
  const covering = useTurnedCall<Explanation>(coverCall(asked), turn);
  const wider = widerEntries(asked.text, covering.answer?.entries ?? []);
  const isPrefix = asked.kind === "prefix";
  const { text } = asked;
  return (
    <>
      <Shown of={found} what="Searching">
        {({ udms = [], nextPageToken = "" }) => {
          const own = isPrefix
            ? udms.find(({ key, layer = "" }) => key === text.toLowerCase() && layer === "")
            : undefined;
          return (
            <Section
              title={own?.name === undefined || own.name === "" ? text : own.name}
              note={countText(udms.length, nextPageToken !== "", isPrefix)}
              actions={
                <>
                  {isPrefix && (
                    <ActionButton
                      needs="editor"
                      area="metadata"
                      kind="primary"
                      onAction={() => (own === undefined ? edit({ key: text }, true) : edit(own, false))}
                    >
                      {own === undefined ? "Name it" : "Edit its entry"}
                    </ActionButton>
                  )}
                  <a class="button" href={hrefOf("metadata", isPrefix ? { within: text } : { text })}>
                    See all in Metadata
                  </a>
                  {flowFilter !== undefined && (
                    <a class="button" href={hrefOf("explore", { filter: flowFilter })}>
                      Explore the traffic
                    </a>
                  )}
                </>
              }
            >
              {isPrefix && <Inherited wider={wider} isOwn={own?.name !== undefined} />}
              {udms.length === 0 ? (
                <Empty title={isPrefix ? "No entry lies within" : "No entry has this in its name, tags or values"}>
                  {isPrefix ? "Name it to begin with." : "Enter an address or a prefix to name it."}
                </Empty>
              ) : (
                <EntryList entries={udms} edit={(entry) => edit(entry, false)} />
              )}
            </Section>
          );
        }}
      </Shown>
      {wider.length > 0 && (
        <Section title="Entries that cover it" note="the most specific first">
          <EntryList entries={wider} edit={(entry) => edit(entry, false)} />
        </Section>
      )}
      {/* What the search refuses is no filter of flows either. */}
      {flowFilter !== undefined && found.failure?.status !== 400 && <LastFlows filter={flowFilter} />}
    </>
  );
}

/** What the addresses of a prefix are called that has no name of its own. */
function Inherited({
  wider,
  isOwn,
}: {
  readonly wider: readonly Entry[];
  readonly isOwn: boolean;
}): JSX.Element | null {
  const named = wider.find(({ name = "" }) => name !== "");
  if (isOwn || named === undefined) return null;
  return (
    <p class="lead">
      Its addresses are called <strong>{named.name}</strong> by{" "}
      <a class="mono" href={hrefOfText(named.key)}>
        {named.key}
      </a>
      , where no narrower entry names them.
    </p>
  );
}

function countText(count: number, hasMore: boolean, isPrefix: boolean): string {
  const entries = `${hasMore ? "the first " : ""}${formatWhole(count)} ${count === 1 ? "entry" : "entries"}`;
  return isPrefix ? `${entries} within` : `${entries} ${count === 1 ? "has" : "have"} it`;
}
