import { createHmac } from "node:crypto";
import type { Clock, Log } from "../../base/report/index.ts";
import { defaulted, mapping, oneOf, optional, required, scalar } from "../../base/yaml/index.ts";
import { HttpClient, httpFailure, type HttpAnswer } from "../../output/index.ts";
import { textOf, type Alert, type Notice } from "../alerts.ts";

/** A document for people, such as a report. It is sent whole and alone. */
export interface Letter {
  /** An id that stays the same when the letter is sent again. */
  readonly id: string;
  readonly subject: string;
  /** The text for mail programs without HTML. */
  readonly text: string;
  readonly html: string;
  readonly files: readonly { readonly name: string; readonly type: string; readonly content: string }[];
}

/** A receiver of notices. */
export interface Receiver {
  /** Sends notices. @throws Error when the receiver did not take them; they are then sent again. A DeliveryError says who is at fault. */
  send(notices: readonly Notice[], signal: AbortSignal): Promise<void>;
  /** Sends a letter as `send` sends notices. Undefined where the receiver takes no letters. */
  sendLetter?(letter: Letter, signal: AbortSignal): Promise<void>;
  /** Interval in milliseconds at which it wants notices of alerts that still fire. Undefined where one notice is enough. */
  readonly repeatMs?: number;
  /** Time limit for sending, in milliseconds. Undefined: ten seconds. */
  readonly sendMs?: number;
  close(): void;
}

/** Dependencies of receivers. */
export interface ReceiverSurroundings {
  readonly clock: Clock;
  readonly log: Log;
}

/** Drops lines that do not fit in a message and adds how many it left out. @param most characters. */
function cutLines(lines: readonly string[], most: number): string {
  let text = "";
  for (const [i, line] of lines.entries()) {
    const left = lines.length - i;
    const more = `… and ${left} more`;
    if (text.length + line.length + more.length + 2 > most) return text === "" ? line.slice(0, most) : text + more;
    text += i === lines.length - 1 ? line : `${line}\n`;
  }
  return text;
}

const hidden = { isHidden: true };
const url = scalar(
  "an address such as https://host/path, without credentials",
  (text) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = parsed?.protocol === "http:" || parsed?.protocol === "https:";
    return isHttp && parsed.username === "" && parsed.password === "" ? text : undefined;
  },
  hidden,
);
const secret = scalar("a secret of 16 characters or more", (text) => (text.length >= 16 ? text : undefined), hidden);

export const webhook = mapping({
  url: required(url, "Where notices are posted to."),
  secret: optional(secret, "Signs each request with HMAC-SHA256: the header `Netgloss-Signature`."),
  format: defaulted(
    oneOf(["json", "text", "slack", "teams"]),
    "json",
    "`json`: notices with their alerts; `text`: one object with a `text`, as chat systems take it; `slack`, `teams`: a message of Slack (also Mattermost), a card of Microsoft Teams.",
  ),
});
export const alertmanager = mapping({ url: required(url, "Its address, such as http://alertmanager:9093.") });

type WebhookConfig = NonNullable<ReturnType<typeof webhook.read>>;
type AlertmanagerConfig = NonNullable<ReturnType<typeof alertmanager.read>>;

const noTls = { caPath: "", certPath: "", keyPath: "", skipVerification: false };

function clientOf(at: string, clock: Clock): HttpClient {
  const headers = { "content-type": "application/json", "user-agent": "netgloss" };
  return new HttpClient({ urls: [at], headers, tls: noTls, maxConnections: 1 }, clock);
}

/** Posts a body. @throws DeliveryError for any status but success. */
async function post(
  client: HttpClient,
  path: string,
  body: unknown,
  clock: Clock,
  signal: AbortSignal,
  headers: (text: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  const text = JSON.stringify(body);
  const request = { method: "POST", path, headers: headers(text), body: [Buffer.from(text)], signal };
  const answer: HttpAnswer = await client.request(request);
  if (answer.status < 200 || answer.status > 299) throw httpFailure(answer, clock);
}

/** Maximum characters of a message. Teams accepts 28 KB, and people read only the beginning. */
const mostText = 8000;

const linesOf = (notices: readonly Notice[]): string => cutLines(notices.map(textOf), mostText);

type TextFormat = Exclude<WebhookConfig["format"], "json">;

/** The body to post for a text, by format. */
const bodies: Readonly<Record<TextFormat, (text: string) => unknown>> = {
  text: (text) => ({ text }),
  // Special characters are escaped, or a name could mention everybody: Slack has <!here>, Mattermost @here.
  slack: (text) => ({
    text: text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll(/@(?=(?:all|channel|here)\b)/gi, "@\u200b"),
    mrkdwn: false,
    unfurl_links: false,
  }),
  teams: (text) => ({
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          // Teams reads a text block as Markdown but shows a text run as it is.
          body: text.split("\n").map((line) => ({ type: "RichTextBlock", inlines: [{ type: "TextRun", text: line }] })),
        },
      },
    ],
  }),
};

/** A receiver that posts all waiting notices in one request. */
export class Webhook implements Receiver {
  readonly #config: WebhookConfig;
  readonly #client: HttpClient;
  readonly #clock: Clock;

  constructor(config: WebhookConfig, clock: Clock) {
    this.#config = config;
    this.#client = clientOf(config.url, clock);
    this.#clock = clock;
  }

  send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const { format } = this.#config;
    return this.#post(format === "json" ? { notices } : bodies[format](linesOf(notices)), signal);
  }

  /** Sends the whole letter as JSON; chat systems get only its text. */
  sendLetter(letter: Letter, signal: AbortSignal): Promise<void> {
    const { format } = this.#config;
    const lines = [letter.subject, ...letter.text.split("\n")];
    const body = format === "json" ? { report: letter } : bodies[format](cutLines(lines, mostText));
    return this.#post(body, signal, { "idempotency-key": letter.id });
  }

  #post(body: unknown, signal: AbortSignal, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    return post(this.#client, "", body, this.#clock, signal, (text) => ({ ...headers, ...this.#signature(text) }));
  }

  close(): void {
    this.#client.close();
  }

  /** Returns the signature header, `t=<seconds>,v1=<hex>`. The HMAC covers the seconds, a dot and the body, so that a replayed request can be recognised. */
  #signature(body: string): Readonly<Record<string, string>> {
    const { secret: key } = this.#config;
    if (key === undefined) return {};
    const seconds = Math.floor(this.#clock.now() / 1000);
    const hash = createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex");
    return { "netgloss-signature": `t=${seconds},v1=${hash}` };
  }
}

/** An Alertmanager resolves an alert that it has not heard of for a while. */
const alertmanagerRepeatMs = 60_000;
const alertmanagerHoldMs = 4 * alertmanagerRepeatMs;

/** A receiver that posts alerts to an Alertmanager (API v2). */
export class Alertmanager implements Receiver {
  readonly repeatMs = alertmanagerRepeatMs;
  readonly #client: HttpClient;
  readonly #clock: Clock;

  constructor({ url: at }: AlertmanagerConfig, clock: Clock) {
    this.#client = clientOf(at, clock);
    this.#clock = clock;
  }

  send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const alerts = notices.map(({ alert }) => this.#alertOf(alert));
    return post(this.#client, "/api/v2/alerts", alerts, this.#clock, signal);
  }

  close(): void {
    this.#client.close();
  }

  #alertOf({ rule, key, text, firedAt = 0, clearedAt, value }: Alert): unknown {
    const labels = Object.entries(key).map(([field, given]) => [field.replaceAll(/[^A-Za-z0-9_]/g, "_"), given]);
    const ends = clearedAt ?? this.#clock.now() + alertmanagerHoldMs;
    return {
      labels: { alertname: rule, ...Object.fromEntries(labels) },
      annotations: { summary: text, value: String(value) },
      startsAt: new Date(firedAt).toISOString(),
      endsAt: new Date(ends).toISOString(),
    };
  }
}
