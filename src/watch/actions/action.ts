import { bool, defaulted, list, mapping, optional, scalar } from "../../base/yaml/index.ts";
import { blackhole, flowspec } from "../answers/index.ts";
import { command, CommandReceiver } from "./command-receiver.ts";
import { email, EmailReceiver } from "./email-receiver.ts";
import { Alertmanager, alertmanager, Webhook, webhook } from "./http-receivers.ts";
import { QuietHours, quietTime, timeZone } from "./quiet-hours.ts";
import { syslog, SyslogReceiver } from "./syslog-receiver.ts";
import type { Receiver, ReceiverSurroundings } from "./receiver.ts";

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

function readSpan(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const ms = 1000 * Number(digits) * (units[unit] ?? Number.NaN);
  return ms <= 86_400_000 ? ms : undefined;
}

const group = scalar("a time from 0s to 1h", (text) => {
  const ms = readSpan(text);
  return ms !== undefined && ms <= 3_600_000 ? ms : undefined;
});

/** How many notices of one rule there may be in a time. */
interface NoticeLimit {
  readonly count: number;
  readonly perMs: number;
}

const limit = scalar("such as `20 per 10m`, up to 1000 in up to 24h", (text): NoticeLimit | undefined => {
  const [, count, span = ""] = /^(\d{1,4}) per (\S+)$/.exec(text) ?? [];
  const perMs = readSpan(span);
  const most = Number(count);
  return perMs !== undefined && perMs > 0 && most >= 1 && most <= 1000 ? { count: most, perMs } : undefined;
});

/** Of a storm people read the first. */
const usualLimit: NoticeLimit = { count: 100, perMs: 600_000 };

const kinds = ["webhook", "alertmanager", "email", "syslog", "command", "blackhole", "flowspec"] as const;

/** An action of the file: exactly one of the receivers or answers, and when it is told. */
export const action = mapping(
  {
    webhook: optional(webhook, "Posts notices by HTTP."),
    alertmanager: optional(alertmanager, "Tells an Alertmanager, again and again as long as an alert fires."),
    email: optional(email, "Sends e-mail."),
    syslog: optional(syslog, "Sends the record of each notice as a message of syslog."),
    command: optional(command, "Runs a program; only where `SVC_WATCH_COMMANDS_ENABLE` allows that."),
    blackhole: optional(blackhole, "Has routers discard all packets to the destination."),
    flowspec: optional(flowspec, "Has routers discard the packets of the attack."),
    group: defaulted(group, 0, "How long a notice waits for others, which are sent with it."),
    limit: defaulted(
      limit,
      usualLimit,
      "How many notices of one rule there are in a time, `100 per 10m` where it is left out. Further ones are one notice, a summary, at the end of that time. An Alertmanager gets all: it groups them itself.",
    ),
    quiet: defaulted(
      list(quietTime),
      [],
      "When nothing is sent: `22:00-07:00` each day, `sat-sun 00:00-24:00`. What waits is sent when it is over.",
    ),
    zone: defaulted(timeZone, "UTC", "The time zone of `quiet`."),
    ended: defaulted(bool, true, "Whether it is told that an alert has ended."),
  },
  {
    check(_given, at) {
      const found = kinds.filter((kind) => at.has(kind));
      if (found.length !== 1) at.error(`expected one of ${kinds.join(", ")}`);
    },
  },
);

/** The configuration of an action; plain data. */
export type ActionConfig = NonNullable<ReturnType<typeof action.read>>;

/** Makes the receiver of an action. */
export function createReceiver(config: ActionConfig, { clock, log }: ReceiverSurroundings): Receiver {
  if (config.webhook !== undefined) return new Webhook(config.webhook, clock);
  if (config.alertmanager !== undefined) return new Alertmanager(config.alertmanager, clock);
  if (config.email !== undefined) return new EmailReceiver(config.email, log);
  if (config.syslog !== undefined) return new SyslogReceiver(config.syslog, clock);
  if (config.command !== undefined) return new CommandReceiver(config.command);
  throw new TypeError("an action of no kind");
}

/** When an action is not told. */
export function quietHoursOf({ quiet, zone }: ActionConfig): QuietHours {
  return new QuietHours(quiet, zone);
}
