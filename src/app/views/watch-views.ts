import { apiError, badParameter, type CollectorAnswer, type Operation } from "../../server/index.ts";
import type { Alert, AlertQuery, Answer, Refused } from "../../watch/index.ts";
import type { Settings } from "../settings/index.ts";
import type { WatchOutput } from "../threads/watch-output.ts";

function restarting(): Error {
  return apiError("unavailable", "WATCH_RESTARTS", "the thread that watches flows is being started again");
}

/** Answers `GET /api/v1/watch/alerts`. @throws ConnectError for an invalid parameter. */
export async function alertsView(
  watch: WatchOutput | undefined,
  query = new URLSearchParams(),
): Promise<CollectorAnswer<"listAlerts">> {
  const asked = alertQueryOf(query);
  if (watch === undefined) return { enabled: false, firing: 0, pending: 0, cleared: 0, matched: 0, alerts: [] };
  const list = accepted(await watch.find(asked));
  if (list === undefined) throw restarting();
  return { enabled: true, ...list };
}

const states: readonly Alert["state"][] = ["pending", "firing", "cleared"];
const maxListed = 1000;

/** Reads the query for alerts. @throws ConnectError */
function alertQueryOf(query: URLSearchParams): AlertQuery {
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const [from, to] = [timeOf("from", text("from")), timeOf("to", text("to"))];
  const [rule, filter, names, evidence = "true"] = [text("rule"), text("filter"), text("names"), text("evidence")];
  const limit = Number(text("limit") ?? maxListed);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxListed)
    throw badParameter("limit", `expected a whole number from 1 to ${maxListed}`);
  if (evidence !== "true" && evidence !== "false") throw badParameter("evidence", "expected true or false");
  const given = text("state")?.split(",");
  if (given?.some((state) => !states.includes(state as Alert["state"])) === true)
    throw badParameter("state", `expected ${states.join(", ")}, or several of them with commas between`);
  return {
    limit,
    hasEvidence: evidence === "true",
    ...(given !== undefined && { states: given as Alert["state"][] }),
    ...(rule !== undefined && { rule }),
    ...(filter !== undefined && filter.trim() !== "" && { filter }),
    ...(names !== undefined && { names }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

/** Parses milliseconds since the epoch. */
function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const isDate = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  const time = /^\d{1,15}$/.test(text) ? Number(text) : isDate ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw badParameter(name, "expected a time such as 2026-11-27T18:00:00Z");
  return time;
}

/** Answers `GET /api/v1/watch/silences`. */
export async function silencesView(watch: WatchOutput | undefined): Promise<CollectorAnswer<"listSilences">> {
  if (watch === undefined) return { enabled: false, silences: [] };
  const silences = await watch.silences();
  if (silences === undefined) throw restarting();
  return { enabled: true, silences };
}

/** Returns an accepted answer. @throws ConnectError where a request was refused. */
function accepted<T extends object>(answer: T | Refused | undefined): T | undefined {
  if (answer === undefined || !("refused" in answer)) return answer;
  const violations = answer.refused.map((description) => ({ field: "", description }));
  throw apiError("invalid_argument", "INVALID_REQUEST", answer.refused.join("; "), { violations });
}

const textSchema = (description: string, ...examples: readonly string[]): Readonly<Record<string, unknown>> => ({
  type: "string",
  description,
  examples,
});
const forSchema = textSchema("How long, up to 366d.", "30m", "8h");

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

/** Returns an answer without the address of its speaker. */
function shownAnswer({ speaker, ...answer }: Answer): CollectorAnswer<"listAnswers">["answers"][number] {
  return { ...answer, speaker: speaker.name };
}

function decision(summary: string, name: "allow" | "withdraw", watch: WatchOutput | undefined): Operation {
  return {
    summary,
    role: "operator",
    area: "flow",
    schema: { type: "object", required: ["id", "state"] },
    async run(id, by, _body, isToken) {
      if (watch === undefined) return undefined;
      const decided = await watch.decide(name, { id, by, isToken });
      if (decided === undefined) throw restarting();
      if ("refused" in decided) throw apiError("failed_precondition", "ANSWER_REFUSED", decided.refused);
      return decided.answer && shownAnswer(decided.answer);
    },
  };
}

type Operations = readonly (readonly [path: string, Operation])[];

/** Returns the operations on alerts and actions, by path. */
export function watchOperations(watch: WatchOutput | undefined): ReadonlyMap<string, Operation> {
  return new Map([...alertOperations(watch), ...silenceOperations(watch), ...actionOperations(watch)]);
}

function alertOperations(watch: WatchOutput | undefined): Operations {
  return [
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
      "/api/v1/watch/alerts/{id}/snooze",
      {
        summary: "Sends no notices of an alert for a time",
        role: "editor",
        area: "flow",
        schema: { type: "object", required: ["id", "snoozed"] },
        body: { type: "object", additionalProperties: false, required: ["for"], properties: { for: forSchema } },
        run: async (id, by, given) => accepted(await watch?.snooze({ id, by, given })),
      },
    ],
  ];
}

function silenceOperations(watch: WatchOutput | undefined): Operations {
  return [
    [
      "/api/v1/watch/silences/add",
      {
        summary: "Sends no notices of the alerts of a filter for a time",
        role: "editor",
        area: "flow",
        schema: { type: "object", required: ["id", "filter", "from", "until"] },
        body: {
          type: "object",
          additionalProperties: false,
          required: ["filter", "for"],
          properties: {
            filter: textSchema("Over fields of keys of alerts, and alert.rule.name.", "flow.dst.ip.addr in 10.0.0.0/8"),
            for: forSchema,
            from: textSchema("When it begins, RFC 3339; left out: now.", "2026-11-22T04:00:00Z"),
            comment: textSchema("Why.", "maintenance"),
          },
        },
        async run(id, by, given) {
          if (watch === undefined) throw apiError("unimplemented", "WATCH_DISABLED", "no rules are set up");
          const silence = accepted(await watch.silence({ id, by, given }));
          if (silence === undefined) throw restarting();
          return silence;
        },
      },
    ],
    [
      "/api/v1/watch/silences/{id}/end",
      {
        summary: "Ends a silence now",
        role: "editor",
        area: "flow",
        schema: { type: "object", required: ["id", "until"] },
        run: async (id, by) => watch?.endSilence({ id, by }),
      },
    ],
  ];
}

function actionOperations(watch: WatchOutput | undefined): Operations {
  return [
    [
      "/api/v1/watch/actions/{id}/test",
      {
        summary: "Sends a made-up alert to an action",
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
  ];
}
