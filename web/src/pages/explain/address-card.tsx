import type { JSX } from "preact";
import { toolsPath, type ApiCall } from "../../api/call.ts";
import type { Entry } from "../../api/entry.ts";
import { useTurnedCall } from "../../api/use-turned-call.ts";
import { hrefOfValue } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { Section } from "../../ui/page.tsx";
import { Shown } from "../../ui/states.tsx";
import { EntryList } from "./entry-list.tsx";
import { groupContexts, type Explanation } from "./explanation.ts";
import { FieldTable } from "./field-table.tsx";

export const explainCall = (ip: string): ApiCall => ({ path: toolsPath("ExplainAddress"), body: { ip } });

export interface AddressCardProps {
  readonly ip: string;
  /** Grows with each change of the metadata. */
  readonly turn: number;
  readonly edit: (entry: Entry, isNew: boolean) => void;
}

/** What an address is called and why, and what it does. */
export function AddressCard({ ip, turn, edit }: AddressCardProps): JSX.Element {
  const explanation = useTurnedCall<Explanation>(explainCall(ip), turn);
  return (
    <Shown of={explanation} what={`Explaining ${ip}`}>
      {(answer) => <Card explanation={answer} edit={edit} />}
    </Shown>
  );
}

function Card({
  explanation: { ip, contexts = [], entries = [] },
  edit,
}: {
  readonly explanation: Explanation;
  readonly edit: AddressCardProps["edit"];
}): JSX.Element {
  const own = entries.find(({ key, layer = "" }) => key === ip && layer === "");
  const named = entries.find(({ name = "" }) => name !== "");
  const groups = groupContexts(contexts);
  const tags = [...new Set(entries.flatMap((entry) => entry.tags ?? []))];
  return (
    <>
      <Section
        title={named?.name ?? ip}
        note={named !== undefined && <span class="mono">{ip}</span>}
        actions={
          <ActionButton
            needs="editor"
            area="metadata"
            kind="primary"
            onAction={() => (own === undefined ? edit({ key: ip }, true) : edit(own, false))}
          >
            {own === undefined ? "Name it" : "Edit its entry"}
          </ActionButton>
        }
      >
        {named === undefined && (
          <p class="lead">
            Nobody has named it{entries.length > 0 ? ", although entries cover it" : ""}. Name it, and the next flow
            carries the name.
          </p>
        )}
        {tags.length > 0 && (
          <p aria-label="Tags">
            {tags.map((tag) => (
              <a key={tag} class="tag" href={hrefOfValue("tag", tag)}>
                {tag}
              </a>
            ))}
          </p>
        )}
        {groups.map((group) => (
          <FieldTable key={group.contexts.join()} group={group} isOnly={groups.length === 1} />
        ))}
      </Section>
      {entries.length > 0 && (
        <Section title="Entries that cover it" note="the most specific first">
          <EntryList entries={entries} edit={(entry) => edit(entry, false)} />
        </Section>
      )}
    </>
  );
}
