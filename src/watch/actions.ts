import { createHmac } from "node:crypto";
import { Backoff, type Clock, type Log } from "../base/report/index.ts";
import { defaulted, mapping, oneOf, optional, required, scalar } from "../base/yaml/index.ts";
import { HttpClient, httpFailure, type HttpAnswer } from "../output/index.ts";
import type { Alert, Notice } from "./alerts.ts";
import { blackhole, flowspec } from "./answers/index.ts";

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

const webhook = mapping({
  url: required(url, "Where notices are posted to."),
  secret: optional(secret, "Signs each request with HMAC-SHA256: the header `Netgloss-Signature`."),
  format: defaulted(
    oneOf(["json", "text"]),
    "json",
    "`json`: notices with their alerts; `text`: one object with a `text`, as chat systems take it.",
  ),
});
const alertmanager = mapping({ url: required(url, "Its address, such as http://alertmanager:9093.") });

/** An action of the file: exactly one of these. */
export const action = mapping(
  {
    webhook: optional(webhook, "Posts notices by HTTP."),
    alertmanager: optional(alertmanager, "Tells an Alertmanager, again and again as long as an alert fires."),
    blackhole: optional(blackhole, "Has routers discard all packets to the destination."),
    flowspec: optional(flowspec, "Has routers discard the packets of the attack."),
  },
  {
    check(_given, at) {
      if (at.children().length !== 1) at.error("expected one of webhook, alertmanager, blackhole, flowspec");
    },
  },
);

/** The configuration of an action; plain data. */
export type ActionConfig = NonNullable<ReturnType<typeof action.read>>;

/** A receiver of notices. */
interface Action {
  /** @throws Error when it did not take them: then they are sent again. */
  send(notices: readonly Notice[], signal: AbortSignal): Promise<void>;
  /** How often it wants to hear of alerts that fire on, milliseconds; undefined: once is enough. */
  readonly repeatMs?: number;
  close(): void;
}

const noTls = { caPath: "", certPath: "", keyPath: "", skipVerification: false };

function clientOf(at: string, clock: Clock): HttpClient {
  const headers = { "content-type": "application/json", "user-agent": "netgloss" };
  return new HttpClient({ urls: [at], headers, tls: noTls, maxConnections: 1 }, clock);
}

/** Posts a body. @throws DeliveryError for anything but success. */
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

/** Posts notices, one request for all that wait. */
class Webhook implements Action {
  readonly #config: NonNullable<ActionConfig["webhook"]>;
  readonly #client: HttpClient;
  readonly #clock: Clock;

  constructor(config: NonNullable<ActionConfig["webhook"]>, clock: Clock) {
    this.#config = config;
    this.#client = clientOf(config.url, clock);
    this.#clock = clock;
  }

  send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const lines = notices.map(({ kind, alert }) => `${kind === "firing" ? "ALERT" : "over"}: ${alert.text}`);
    const body = this.#config.format === "text" ? { text: lines.join("\n") } : { notices };
    return post(this.#client, "", body, this.#clock, signal, (text) => this.#signature(text));
  }

  close(): void {
    this.#client.close();
  }

  /** `t=<seconds>,v1=<hex>`: the HMAC is of the seconds, a dot and the body, so that an old request can be told from a new one. */
  #signature(body: string): Readonly<Record<string, string>> {
    const { secret: key } = this.#config;
    if (key === undefined) return {};
    const seconds = Math.floor(this.#clock.now() / 1000);
    const hash = createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex");
    return { "netgloss-signature": `t=${seconds},v1=${hash}` };
  }
}

/** An Alertmanager takes an alert for over when it has not heard of it for a while. */
const alertmanagerRepeatMs = 60_000;
const alertmanagerHoldMs = 4 * alertmanagerRepeatMs;

/** Tells an Alertmanager of alerts (API v2). */
class Alertmanager implements Action {
  readonly repeatMs = alertmanagerRepeatMs;
  readonly #client: HttpClient;
  readonly #clock: Clock;

  constructor({ url: at }: NonNullable<ActionConfig["alertmanager"]>, clock: Clock) {
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

function createAction({ webhook: hook, alertmanager: manager }: ActionConfig, clock: Clock): Action {
  if (hook !== undefined) return new Webhook(hook, clock);
  if (manager !== undefined) return new Alertmanager(manager, clock);
  throw new TypeError("an action of no kind");
}

const maxWaiting = 10_000;
const maxAtOnce = 100;
const sendMs = 10_000;
/** A receiver that refuses for this long does not get the notice any more. */
const giveUpMs = 86_400_000;
const firstPauseMs = 1000;
const longestPauseMs = 300_000;

/** Notices on their way to one action: in order, each until it is taken. */
export class ActionQueue {
  readonly name: string;
  readonly #action: Action;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #backoff = new Backoff(firstPauseMs, longestPauseMs, Math.random);
  readonly #stop = new AbortController();
  #waiting: { readonly notice: Notice; readonly since: number }[] = [];
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #repeatedAt: number;
  readonly counts = { sent: 0, failures: 0, dropped: 0 };
  /** Why the last try failed. */
  fault: string | undefined;

  /** @param changed called when fewer wait. */
  constructor(name: string, config: ActionConfig, { clock, log }: { clock: Clock; log: Log }, changed: () => void) {
    this.name = name;
    this.#action = createAction(config, clock);
    this.#clock = clock;
    this.#log = log;
    this.#changed = changed;
    this.#repeatedAt = clock.monotonic();
  }

  /** Notices that nobody has taken yet. */
  get waiting(): readonly Notice[] {
    return this.#waiting.map(({ notice }) => notice);
  }

  /** Takes a notice. When too many wait, the oldest is dropped and counted. */
  add(notice: Notice): void {
    this.#waiting.push({ notice, since: this.#clock.monotonic() });
    if (this.#waiting.length > maxWaiting) {
      this.#waiting.shift();
      this.counts.dropped++;
    }
    if (this.#failures === 0) this.#sendSoon(0);
  }

  /** Sends what fires again, where the action wants that. @param firing all alerts that name this action. */
  repeat(firing: () => readonly Alert[]): void {
    const { repeatMs } = this.#action;
    if (repeatMs === undefined || this.#clock.monotonic() - this.#repeatedAt < repeatMs) return;
    this.#repeatedAt = this.#clock.monotonic();
    const waits = new Set(this.#waiting.map(({ notice }) => notice.alert.id));
    for (const alert of firing())
      if (!waits.has(alert.id)) this.add({ id: `${alert.id}-firing`, kind: "firing", alert });
  }

  /** Tries the action with a made alert. @throws Error with why it does not work. */
  async test(alert: Alert): Promise<void> {
    await this.#action.send([{ id: `${alert.id}-firing`, kind: "firing", alert }], AbortSignal.timeout(sendMs));
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.abort(new Error("the collector stops"));
    await this.#sending;
    this.#action.close();
  }

  #sendSoon(ms: number): void {
    if (this.#stop.signal.aborted || this.#sending !== undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined;
        if (this.#waiting.length > 0) this.#sendSoon(this.#failures === 0 ? 0 : this.#backoff.delay(this.#failures));
      });
    }, ms);
  }

  async #send(): Promise<void> {
    // Chat systems refuse what is long: fewer are sent after a failure, down to one.
    const batch = this.#waiting.slice(0, Math.max(1, maxAtOnce >> Math.min(this.#failures, 10)));
    if (batch.length === 0) return;
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(sendMs)]);
      await this.#action.send(
        batch.map(({ notice }) => notice),
        signal,
      );
      this.counts.sent += batch.length;
      this.#failures = 0;
      this.fault = undefined;
      this.#taken(batch);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failures++;
      this.counts.failures++;
      this.fault = error instanceof Error ? error.message : String(error);
      if (this.#failures === 1) this.#log.warn({ action: this.name, error }, "notices of alerts cannot be sent");
      const late = batch.filter(({ since }) => this.#clock.monotonic() - since > giveUpMs);
      this.counts.dropped += late.length;
      if (late.length > 0) this.#taken(late);
    }
  }

  #taken(batch: readonly { readonly notice: Notice }[]): void {
    const gone = new Set(batch);
    this.#waiting = this.#waiting.filter((each) => !gone.has(each));
    this.#changed();
  }
}
