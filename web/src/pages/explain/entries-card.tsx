import type { JSX } from "preact";
import { searchCall, type Entry, type SearchAnswer } from "../../api/entries.ts";
import type { ApiCall } from "../../api/call.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { hrefOf } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Shown } from "../../ui/states.tsx";
import { EntryList } from "./entry-list.tsx";
import { LastFlows } from "./last-flows.tsx";
import { quoted, type Asked } from "./what-is-asked.ts";

/** Entries that are listed here; the page Metadata has all. */
const pageSize = 100;

/** What is searched for a prefix, a range or words. */
export function entriesCall(asked: Asked): ApiCall {
  if (asked.kind === "prefix") return searchCall({ filter: `key in ${asked.text}`, pageSize });
  return searchCall({ text: asked.kind === "nothing" ? "" : asked.text, pageSize });
}

export interface EntriesCardProps {
  readonly asked: Asked & { readonly kind: "prefix" | "words" };
  readonly turn: number;
  readonly edit: (entry: Entry, isNew: boolean) => void;
}

/** What a prefix is called and holds, or which entries have a name or a tag. */
export function EntriesCard({ asked, turn, edit }: EntriesCardProps): JSX.Element {
  const found = useTurnedCall<SearchAnswer>(entriesCall(asked), turn);
  const isPrefix = asked.kind === "prefix";
  const { text } = asked;
  const flowFilter = isPrefix ? `addr in ${text}` : `name = ${quoted(text)} or tag = ${quoted(text)}`;
  return (
    <>
      <Shown of={found} what="Searching">
        {({ udms = [], nextPageToken = "" }) => {
          const own = isPrefix ? udms.find(({ key }) => key === text) : undefined;
          const more = nextPageToken === "" ? "" : "the first ";
          return (
            <Section
              title={own?.name === undefined || own.name === "" ? text : own.name}
              note={isPrefix ? `${more}${udms.length} entries within` : `${more}${udms.length} entries have it`}
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
                  <a class="button" href={hrefOf("explore", { filter: flowFilter })}>
                    Explore the traffic
                  </a>
                </>
              }
            >
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
      <LastFlows filter={flowFilter} />
    </>
  );
}
