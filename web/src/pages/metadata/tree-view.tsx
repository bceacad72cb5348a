import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { searchCall } from "../../api/entries.ts";
import type { Entry } from "../../api/entry.ts";
import { useLoad } from "../../api/use-call.ts";
import { hrefOf, hrefOfText } from "../../navigation/place.ts";
import { Section } from "../../ui/page.tsx";
import { Failure, Loading } from "../../ui/states.tsx";
import { readChildren } from "./tree-children.ts";

export const treeCall = searchCall({ filter: "key in 0.0.0.0/0", pageSize: 100 });

const roots = [
  ["IPv4", "0.0.0.0/0"],
  ["IPv6", "::/0"],
] as const;

export interface TreeViewProps {
  readonly turn: number;
  readonly edit: (entry: Entry) => void;
}

/** The address plan as it nests: a prefix opens to what lies right below it. */
export function TreeView({ turn, edit }: TreeViewProps): JSX.Element {
  return (
    <Section title="Prefix tree" note="what lies right below, and no deeper, is read">
      {roots.map(([label, within]) => (
        <div key={label}>
          <h3 class="sub">{label}</h3>
          <Children within={within} own="" turn={turn} edit={edit} emptyText={`No entry of ${label}.`} />
        </div>
      ))}
    </Section>
  );
}

interface ChildrenProps extends TreeViewProps {
  readonly within: string;
  readonly own: string;
  readonly emptyText: string;
}

function Children({ within, own, turn, edit, emptyText }: ChildrenProps): JSX.Element {
  const [showsRest, setShowsRest] = useState(false);
  const children = useLoad((signal) => readChildren(within, own, signal), `${within} ${turn}`, { keepsOld: true });
  const { answer, failure } = children;
  if (answer === undefined) {
    return failure === undefined ? <Loading what="Reading" /> : <Failure failure={failure} retry={children.reload} />;
  }
  if (answer.entries.length === 0) return <p class="note">{emptyText}</p>;
  return (
    <>
      <ul class="tree">
        {answer.entries.map((entry) => (
          <Node key={entry.key} entry={entry} turn={turn} edit={edit} />
        ))}
      </ul>
      {answer.rest !== undefined &&
        (showsRest ? (
          <Children within={answer.rest} own={own} turn={turn} edit={edit} emptyText="Nothing more." />
        ) : (
          <button type="button" class="button quiet" onClick={() => setShowsRest(true)}>
            Show more
          </button>
        ))}
    </>
  );
}

function Node({ entry, turn, edit }: TreeViewProps & { readonly entry: Entry }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { key, name = "", tags = [], layer = "" } = entry;
  const canOpen = /[/-]/.test(key);
  return (
    <li>
      <div class="node">
        {canOpen ? (
          <button
            type="button"
            class="opener"
            aria-expanded={isOpen}
            aria-label={`What lies in ${key}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span class="opener" />
        )}
        <button type="button" class="link mono" onClick={() => edit(entry)} disabled={layer !== ""}>
          {key}
        </button>
        <strong>{name}</strong>
        {tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
        <a class="note" href={hrefOfText(key)}>
          its page
        </a>
        {canOpen && (
          <a class="note" href={hrefOf("metadata", { within: key })}>
            as a table
          </a>
        )}
      </div>
      {isOpen && <Children within={key} own={key} turn={turn} edit={edit} emptyText="Nothing lies in it." />}
    </li>
  );
}
