import type { ListAlertsAnswer } from "../../api/answers.gen.ts";

type Alert = ListAlertsAnswer["alerts"][number];

/** What the stream of alerts has in a line. */
export interface AlertEvent {
  readonly id: string;
  readonly change: string;
  readonly alert?: Alert;
  readonly alerts?: readonly Alert[];
}

/** More are forgotten, those first that ended first: a page may be open for weeks. */
const maxKept = 2000;

/** What is known of alerts after an event; takes the place of what was given. Those that ended first come first. */
export function afterEvent(known: Map<string, Alert>, { change, alert, alerts }: AlertEvent): Map<string, Alert> {
  if (alerts !== undefined) return new Map(alerts.toReversed().map((each) => [each.id, each]));
  if (alert === undefined) return known;
  known.delete(alert.id);
  if (change === "gone") return known;
  known.set(alert.id, alert);
  if (known.size <= maxKept) return known;
  for (const { id, state } of known.values()) {
    if (state !== "cleared") continue;
    known.delete(id);
    break;
  }
  return known;
}
