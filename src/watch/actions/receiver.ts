import type { Clock, Log } from "../../base/report/index.ts";
import type { Alert, Notice } from "../alerts.ts";

/** A receiver of notices. */
export interface Receiver {
  /** @throws Error when it did not take them: then they are sent again. A DeliveryError says who is at fault. */
  send(notices: readonly Notice[], signal: AbortSignal): Promise<void>;
  /** How often it wants to hear of alerts that fire on, milliseconds; undefined: once is enough. */
  readonly repeatMs?: number;
  /** How long it may take to send, milliseconds; undefined: ten seconds. */
  readonly sendMs?: number;
  close(): void;
}

/** What receivers need of where they live. */
export interface ReceiverSurroundings {
  readonly clock: Clock;
  readonly log: Log;
}

/** The notice that an alert has begun. */
export function firingNotice(alert: Alert): Notice {
  return { id: `${alert.id}-firing`, kind: "firing", alert };
}

/** Words that do not fit in a message are cut, with the number of what is left out. @param most characters. */
export function cutLines(lines: readonly string[], most: number): string {
  let text = "";
  for (const [i, line] of lines.entries()) {
    const left = lines.length - i;
    const more = `… and ${left} more`;
    if (text.length + line.length + more.length + 2 > most) return text === "" ? line.slice(0, most) : text + more;
    text += i === lines.length - 1 ? line : `${line}\n`;
  }
  return text;
}
