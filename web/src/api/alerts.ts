import type { GetAlertAnswer, ListAlertsAnswer, ListAnswersAnswer } from "./answers.gen.ts";
import type { ApiCall } from "./call.ts";

/** An alert as lists and the stream have it: its evidence may be left out. */
export type Alert = ListAlertsAnswer["alerts"][number];
export type AlertDetails = GetAlertAnswer;
export type AttackAnswer = ListAnswersAnswer["answers"][number];

/** Which alerts are asked for, as the query has it. */
export interface AlertQuestion {
  readonly state?: string;
  readonly filter?: string;
  /** An address, a network or any other value that their key or evidence has. */
  readonly names?: string;
  readonly limit: number;
}

/** The call for alerts without their evidence. */
export function alertsCall(question: AlertQuestion): ApiCall {
  const values = Object.entries({ ...question, evidence: "false" }).map(([name, value]) => [name, String(value)]);
  return { path: `api/v1/watch/alerts?${new URLSearchParams(values).toString()}` };
}

export const alertCall = (id: string): ApiCall => ({ path: `api/v1/watch/alerts/${encodeURIComponent(id)}` });

/** What fires now, for counts and lists on other pages. */
export const firingCall = alertsCall({ state: "firing", limit: 100 });
