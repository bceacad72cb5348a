import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ListSilencesAnswer } from "../../api/answers.gen.ts";
import { callApi } from "../../api/call.ts";
import { useLack } from "../../api/session.ts";
import type { Loaded } from "../../api/use-call.ts";
import { formatTime } from "../../format/times.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure, Shown } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { useAction } from "../../ui/use-action.ts";
import { SilenceDialog } from "./silence-dialog.tsx";

type Silence = ListSilencesAnswer["silences"][number];

/** Whether a silence is in force, and how that is shown. */
function stateOf({ from, until }: Silence, now: number): readonly [word: string, state: "good" | "warn" | "plain"] {
  if (until <= now) return ["ended", "plain"];
  return from > now ? ["to come", "plain"] : ["in force", "warn"];
}

/** The silences, and a button for a new one. */
export function SilencesSection({ silences }: { readonly silences: Loaded<ListSilencesAnswer> }): JSX.Element {
  const lack = useLack("editor", "flow");
  const [isAdding, setAdding] = useState(false);
  const action = useAction();
  const end = async (id: string): Promise<void> => {
    const call = { path: `api/v1/watch/silences/${encodeURIComponent(id)}/end`, method: "POST" as const };
    await action.run(async () => void (await callApi(call)));
    silences.reload();
  };
  const now = Date.now();
  return (
    <Section
      title="Silences"
      note="alerts of which no notices are sent for a time"
      actions={
        lack === undefined && (
          <ActionButton needs="editor" area="flow" onAction={() => setAdding(true)}>
            New silence …
          </ActionButton>
        )
      }
    >
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <Shown of={silences}>
        {(answer) =>
          answer.silences.length === 0 ? (
            <Empty title="No alerts are silenced" />
          ) : (
            <DataTable
              caption="Silences"
              rows={answer.silences}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "State",
                  cell: (silence) => {
                    const [word, state] = stateOf(silence, now);
                    return <Badge state={state}>{word}</Badge>;
                  },
                },
                { name: "Filter", cell: ({ filter }) => <code>{filter}</code>, className: "wrap" },
                { name: "Until", cell: ({ until }) => formatTime(until, now), sortBy: ({ until }) => until },
                { name: "By", cell: ({ by }) => (by === "" ? "–" : by), isMinor: true },
                { name: "Why", cell: ({ comment }) => comment, className: "wrap", isMinor: true },
                {
                  name: "End",
                  isNameHidden: true,
                  cell: (silence) =>
                    silence.until > now &&
                    lack === undefined && (
                      <ActionButton needs="editor" area="flow" onAction={() => end(silence.id)}>
                        End<span class="hidden"> the silence of {silence.filter}</span>
                      </ActionButton>
                    ),
                },
              ]}
            />
          )
        }
      </Shown>
      {isAdding && <SilenceDialog filter="" onClose={() => setAdding(false)} onDone={silences.reload} />}
    </Section>
  );
}
