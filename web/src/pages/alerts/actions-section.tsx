import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { GetWatchAnswer } from "../../api/answers.gen.ts";
import { callApi } from "../../api/call.ts";
import { useLack } from "../../api/session.ts";
import { formatWhole } from "../../format/numbers.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";

type Action = GetWatchAnswer["actions"][number];

/** A test waits for its receiver. */
const testMs = 60_000;

/** Receivers of notices: how many each took, how many wait or are refused; a test, and sending again those set aside. */
export function ActionsSection({
  actions,
  reload,
}: {
  readonly actions: readonly Action[];
  readonly reload: () => void;
}): JSX.Element {
  const lack = useLack("editor", "flow");
  const action = useAction();
  const [said, setSaid] = useState<{ readonly isGood: boolean; readonly text: string } | undefined>(undefined);
  const pathOf = (name: string, what: string): string => `api/v1/watch/actions/${encodeURIComponent(name)}/${what}`;
  const test = async (name: string): Promise<void> => {
    setSaid(undefined);
    await action.run(async () => {
      const call = { path: pathOf(name, "test"), method: "POST" as const };
      const { ok, fault = "" } = await callApi<{ ok: boolean; fault?: string }>(call, { timeoutMs: testMs });
      setSaid({ isGood: ok, text: ok ? `${name} took the test.` : `The test of ${name} failed: ${fault}` });
    });
    reload();
  };
  const resend = async (name: string): Promise<void> => {
    setSaid(undefined);
    await action.run(async () => {
      const { notices } = await callApi<{ notices: number }>({ path: pathOf(name, "resend"), method: "POST" });
      setSaid({ isGood: true, text: `${String(notices)} notices are sent to ${name} again.` });
    });
    reload();
  };
  return (
    <Section title="Actions" note="where notices of alerts go">
      <div role="status" aria-live="polite">
        {said !== undefined && <p class={said.isGood ? "state good" : "state failure"}>{said.text}</p>}
      </div>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {actions.length === 0 ? (
        <Empty title="Nobody is told of alerts">
          The file of rules may name <code>actions</code>: a webhook, an Alertmanager, e-mail, syslog, a command.
        </Empty>
      ) : (
        <DataTable
          caption="Actions"
          rows={actions}
          keyOf={({ name }) => name}
          columns={[
            {
              name: "Action",
              cell: ({ name, fault }) => (
                <>
                  {name}
                  {fault !== undefined && <div class="fault">{fault}</div>}
                </>
              ),
              className: "wrap",
            },
            { name: "Sent", cell: ({ sent }) => formatWhole(sent), isNumber: true },
            { name: "Waiting", cell: ({ waiting }) => formatWhole(waiting), isNumber: true },
            { name: "Set aside", cell: ({ aside }) => formatWhole(aside), isNumber: true },
            { name: "Lost", cell: ({ dropped }) => formatWhole(dropped), isNumber: true, isMinor: true },
            {
              name: "Do",
              isNameHidden: true,
              cell: ({ name, aside }) =>
                lack === undefined && (
                  <span class="decide">
                    <ActionButton needs="editor" area="flow" onAction={() => test(name)}>
                      Test<span class="hidden"> {name}</span>
                    </ActionButton>
                    {aside > 0 && (
                      <ActionButton needs="editor" area="flow" onAction={() => resend(name)}>
                        Send again<span class="hidden"> what {name} refused</span>
                      </ActionButton>
                    )}
                  </span>
                ),
            },
          ]}
        />
      )}
    </Section>
  );
}
