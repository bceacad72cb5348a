import type { JSX } from "preact";
import type { AttackAnswer } from "../../api/alerts.ts";
import { callApi } from "../../api/call.ts";
import { useLack, useSession } from "../../api/session.ts";
import { formatShare } from "../../format/numbers.ts";
import { formatTime } from "../../format/times.ts";
import { hrefOf } from "../../navigation/place.ts";
import { ActionButton } from "../../ui/action-button.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Failure } from "../../ui/states.tsx";
import { Badge } from "../../ui/tile.tsx";
import { useAction } from "../../ui/use-action.ts";

const badges = {
  proposed: "warn",
  announcing: "warn",
  announced: "bad",
  withdrawing: "warn",
  ended: "plain",
  refused: "plain",
} as const;

export interface AnswerTableProps {
  readonly answers: readonly AttackAnswer[];
  /** How many users have to allow one. */
  readonly approvals: number;
  readonly reload: () => void;
}

/** Routes against attacks: what they take, who allowed them, and the buttons of who may. */
export function AnswerTable({ answers, approvals, reload }: AnswerTableProps): JSX.Element {
  const mayDecide = useLack("operator", "flow") === undefined;
  const { name } = useSession();
  const action = useAction();
  const decide = async (id: string, decision: "approve" | "withdraw"): Promise<void> => {
    const call = { path: `api/v1/watch/answers/${encodeURIComponent(id)}/${decision}`, method: "POST" as const };
    await action.run(async () => void (await callApi(call)));
    reload();
  };
  const now = Date.now();
  return (
    <>
      {action.failure !== undefined && <Failure failure={action.failure} />}
      <DataTable
        caption="Answers to attacks"
        rows={answers}
        keyOf={({ id }) => id}
        columns={[
          {
            name: "State",
            cell: ({ state, because, fault }) => (
              <>
                <Badge state={badges[state]}>{state}</Badge>
                {(fault ?? because) !== undefined && <div class="note">{fault ?? because}</div>}
              </>
            ),
            className: "wrap",
          },
          {
            name: "Routes",
            cell: ({ text, action: by, alert, reason }) => (
              <>
                <code>{text}</code>
                <div class="note">
                  {by}, for <a href={hrefOf("alerts", { alert })}>{reason}</a>
                </div>
              </>
            ),
            className: "wrap",
          },
          {
            name: "Takes, harms",
            cell: ({ evidence }) =>
              evidence === undefined ? (
                "–"
              ) : (
                <>
                  {formatShare(evidence.takes)} of the attack,{" "}
                  {evidence.harms === undefined ? "unknown" : formatShare(evidence.harms)} of the rest
                </>
              ),
            className: "wrap",
          },
          {
            name: "Allowed by",
            cell: ({ allowed, state }) => (
              <>
                {allowed.length === 0 ? "nobody" : allowed.map(({ by }) => (by === "" ? "someone" : by)).join(", ")}
                {state === "proposed" && approvals > 1 && (
                  <div class="note">
                    {allowed.length} of {approvals} users
                  </div>
                )}
              </>
            ),
          },
          {
            name: "Until",
            cell: ({ endsAt, endedAt }) =>
              endedAt !== undefined ? (
                <>ended {formatTime(endedAt, now)}</>
              ) : endsAt === undefined ? (
                "–"
              ) : (
                formatTime(endsAt, now)
              ),
            isMinor: true,
          },
          {
            name: "Decide",
            isNameHidden: true,
            cell: ({ id, state, allowed, text }) =>
              mayDecide && (
                <span class="decide">
                  {state === "proposed" && (
                    <ActionButton
                      needs="operator"
                      area="flow"
                      kind="danger"
                      lack={
                        name !== undefined && allowed.some(({ by }) => by === name)
                          ? "You have allowed it; another user has to, too."
                          : undefined
                      }
                      onAction={() => decide(id, "approve")}
                    >
                      Approve<span class="hidden"> {text}</span>
                    </ActionButton>
                  )}
                  {(state === "proposed" || state === "announcing" || state === "announced") && (
                    <ActionButton needs="operator" area="flow" onAction={() => decide(id, "withdraw")}>
                      Withdraw<span class="hidden"> {text}</span>
                    </ActionButton>
                  )}
                </span>
              ),
          },
        ]}
      />
    </>
  );
}
