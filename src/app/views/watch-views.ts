import { apiError, type CollectorAnswer, type Operation } from "../../server/index.ts";
import type { Answer } from "../../watch/index.ts";
import type { Settings } from "../settings/index.ts";
import type { WatchOutput } from "../threads/watch-output.ts";

function restarting(): Error {
  return apiError("unavailable", "WATCH_RESTARTS", "the thread that watches flows is being started again");
}

/** Answers `GET /api/v1/watch/alerts`. */
export async function alertsView(watch: WatchOutput | undefined): Promise<CollectorAnswer<"listAlerts">> {
  if (watch === undefined) return { enabled: false, alerts: [] };
  const alerts = await watch.alerts();
  if (alerts === undefined) throw restarting();
  return { enabled: true, alerts };
}

/** Answers `GET /api/v1/watch/rules`. */
export async function watchView(watch: WatchOutput | undefined): Promise<CollectorAnswer<"getWatch">> {
  if (watch === undefined) return { enabled: false, rules: [], actions: [] };
  const status = await watch.status();
  if (status === undefined) throw restarting();
  return { enabled: true, ...status };
}

/** Answers `GET /api/v1/watch/answers`. */
export async function answersView(
  watch: WatchOutput | undefined,
  { SVC_WATCH_ANSWERS: mode, SVC_WATCH_ANSWERS_APPROVALS: approvals }: Settings,
): Promise<CollectorAnswer<"listAnswers">> {
  if (watch === undefined) return { enabled: false, mode, approvals, answers: [] };
  const answers = await watch.answers();
  if (answers === undefined) throw restarting();
  return { enabled: true, mode, approvals, answers: answers.map(shownAnswer) };
}

/** Without how its speaker is reached. */
function shownAnswer({ speaker, ...answer }: Answer): CollectorAnswer<"listAnswers">["answers"][number] {
  return { ...answer, speaker: speaker.name };
}

function decision(summary: string, name: "allow" | "withdraw", watch: WatchOutput | undefined): Operation {
  return {
    summary,
    role: "operator",
    area: "flow",
    schema: { type: "object", required: ["id", "state"] },
    async run(id, by) {
      if (watch === undefined) return undefined;
      const decided = await watch.decide(name, { id, by });
      if (decided === undefined) throw restarting();
      if ("refused" in decided) throw apiError("failed_precondition", "ANSWER_REFUSED", decided.refused);
      return decided.answer && shownAnswer(decided.answer);
    },
  };
}

/** The operations on alerts and actions, by path. */
export function watchOperations(watch: WatchOutput | undefined): ReadonlyMap<string, Operation> {
  return new Map([
    [
      "/api/v1/watch/alerts/{id}/acknowledge",
      {
        summary: "Notes that the caller has seen an alert",
        role: "editor",
        area: "flow",
        schema: { type: "object", required: ["id", "acknowledged"] },
        run: async (id, user) => watch?.acknowledge({ id, by: user }),
      },
    ],
    ["/api/v1/watch/answers/{id}/approve", decision("Allows an answer to an attack", "allow", watch)],
    ["/api/v1/watch/answers/{id}/withdraw", decision("Withdraws an answer to an attack", "withdraw", watch)],
    [
      "/api/v1/watch/actions/{id}/test",
      {
        summary: "Tells an action of a made alert",
        role: "editor",
        area: "flow",
        schema: {
          type: "object",
          required: ["ok"],
          properties: {
            ok: { type: "boolean" },
            fault: { type: "string", description: "Why it did not take it." },
          },
        },
        async run(name) {
          try {
            return (await watch?.test(name)) && { ok: true };
          } catch (error) {
            return { ok: false, fault: (error as Error).message };
          }
        },
      },
    ],
    [
      "/api/v1/watch/actions/{id}/resend",
      {
        summary: "Sends again the notices that an action refused",
        role: "editor",
        area: "flow",
        schema: { type: "object", required: ["notices"], properties: { notices: { type: "integer" } } },
        async run(name) {
          const notices = await watch?.resend(name);
          return notices === undefined ? undefined : { notices };
        },
      },
    ],
  ]);
}
