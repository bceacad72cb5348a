import { Socket } from "node:net";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Log } from "../../base/report/index.ts";
import { DeliveryError } from "../../output/index.ts";
import { defaulted, mapping, oneOf, oneOrList, optional, required, scalar } from "../../base/yaml/index.ts";
import { oneLine, textOf, type Notice } from "../alerts.ts";
import type { Letter, Receiver } from "./receiver.ts";

const mailAddress = scalar("a mail address such as noc@example.com", (text) =>
  /^[^\s@<>,;"]{1,64}@[A-Za-z0-9.-]{1,255}$/.test(text) ? text : undefined,
);
const server = scalar("an address such as smtp://mail.example.com:587 or smtps://mail.example.com", (text) => {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const isSmtp = parsed?.protocol === "smtp:" || parsed?.protocol === "smtps:";
  return isSmtp && parsed.hostname !== "" && parsed.username === "" && /^\/?$/.test(parsed.pathname) ? text : undefined;
});
const word = scalar("a text of up to 1000 characters", (text) => (text.length <= 1000 ? text : undefined), {
  isHidden: true,
});

export const email = mapping(
  {
    server: required(server, "The mail server: `smtp://` with STARTTLS (port 25), `smtps://` with TLS (port 465)."),
    from: required(mailAddress, "Who sends."),
    to: required(oneOrList(mailAddress), "Who gets it."),
    user: optional(word, "The name by which it signs in at the server."),
    password: optional(word, "The password of `user`."),
    starttls: defaulted(
      oneOf(["auto", "required", "off"]),
      "auto",
      "`auto`: where the server has it, and always with `user`; `off`: never.",
    ),
  },
  {
    check({ user, password }, at) {
      if ((user === undefined) !== (password === undefined)) at.error("user and password belong together");
    },
  },
);

type EmailConfig = NonNullable<ReturnType<typeof email.read>>;

type Content = Pick<SendMailOptions, "subject" | "text" | "html" | "attachments"> & { readonly subject: string };

const connectMs = 20_000;
/** A spam filter may be slow to accept a message. After a time-out that is too short, the message would arrive twice (RFC 5321, 4.5.3.2.6). */
const answerMs = 300_000;

/** A receiver that sends people one message for all notices that wait. */
export class EmailReceiver implements Receiver {
  readonly sendMs = answerMs;
  readonly #config: EmailConfig;
  readonly #log: Log;
  /** The recipients who already have a notice, where a server accepted it for some only. Nobody gets it twice. */
  readonly #had = new WeakMap<Notice, Set<string>>();
  readonly #hadLetter = new WeakMap<Letter, Set<string>>();

  constructor(config: EmailConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  async send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    let missed: MailError | undefined;
    for (const { to, lacking } of this.#letters(notices)) missed = (await this.#mail(to, lacking, signal)) ?? missed;
    if (missed !== undefined) throw failureOf(missed);
  }

  async sendLetter(letter: Letter, signal: AbortSignal): Promise<void> {
    const had = this.#hadLetter.get(letter) ?? new Set<string>();
    this.#hadLetter.set(letter, had);
    const to = this.#config.to.filter((each) => !had.has(each));
    const { subject, text, html, files } = letter;
    const attachments = files.map(({ name, type, content }) => ({ filename: name, contentType: type, content }));
    const later = await this.#deliver(to, { subject, text, html, attachments }, letter.id, had, signal);
    if (later !== undefined) throw failureOf(later);
  }

  close(): void {
    // There is nothing to close.
  }

  /** Returns which recipients still need which notices. Mostly, all recipients need all of them. */
  #letters(notices: readonly Notice[]): readonly { to: string[]; lacking: readonly Notice[] }[] {
    const letters = new Map<string, { to: string[]; lacking: readonly Notice[] }>();
    for (const each of this.#config.to) {
      const lacking = notices.filter((notice) => this.#had.get(notice)?.has(each) !== true);
      const ids = lacking.map(({ id }) => id).join(" ");
      const letter = letters.get(ids);
      if (letter !== undefined) letter.to.push(each);
      else if (lacking.length > 0) letters.set(ids, { to: [each], lacking });
    }
    return [...letters.values()];
  }

  /** Sends a message. @returns why some recipients did not get it, where they may get it later. */
  async #mail(to: readonly string[], notices: readonly Notice[], signal: AbortSignal): Promise<MailError | undefined> {
    const [first] = notices as readonly [Notice];
    const subject = notices.length === 1 ? textOf(first) : `${notices.length} notices: ${textOf(first)}`;
    const content = { subject, text: notices.map(paragraphOf).join("\n") };
    const had = new Set<string>();
    const later = await this.#deliver(to, content, `${first.id}-${notices.length}`, had, signal);
    for (const notice of notices) this.#had.set(notice, new Set([...(this.#had.get(notice) ?? []), ...had]));
    return later;
  }

  /**
   * Hands a message to the server.
   *
   * @param id stays the same when the message is sent again, so that mail systems show it once.
   * @param had receives those who have it now or can never get it.
   * @returns why some recipients did not get it, where they may get it later.
   */
  async #deliver(
    to: readonly string[],
    content: Content,
    id: string,
    had: Set<string>,
    signal: AbortSignal,
  ): Promise<MailError | undefined> {
    const { from } = this.#config;
    const socket = new Socket();
    // A server that answers one byte at a time never triggers the idle time-out.
    const abort = (): void => void socket.destroy(signal.reason as Error);
    signal.addEventListener("abort", abort);
    try {
      signal.throwIfAborted();
      const { rejectedErrors = [] } = await transportOf(this.#config, socket).sendMail({
        from,
        to: [...to],
        ...content,
        subject: content.subject.slice(0, 200),
        messageId: `<${id}@${from.slice(from.indexOf("@") + 1)}>`,
        headers: { "Auto-Submitted": "auto-generated" },
      });
      return this.#took(to, rejectedErrors, had);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error as MailError);
    } finally {
      signal.removeEventListener("abort", abort);
      socket.destroy();
    }
  }

  #took(to: readonly string[], rejected: readonly MailError[], had: Set<string>): MailError | undefined {
    const later = rejected.filter(({ responseCode = 0 }) => responseCode < 500);
    for (const error of rejected)
      if (!later.includes(error)) this.#log.warn({ error }, "a mail server refuses one of several who get alerts");
    const waiting = new Set(later.map(({ recipient }) => recipient));
    for (const each of to) if (!waiting.has(each)) had.add(each);
    return later[0];
  }
}

function transportOf({ server: at, user, password, starttls }: EmailConfig, socket: Socket) {
  const { protocol, hostname, port } = new URL(at);
  const isTls = protocol === "smtps:";
  return createTransport({
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isTls ? 465 : 25) : Number(port),
    secure: isTls,
    ignoreTLS: starttls === "off",
    requireTLS: starttls === "required" || (starttls === "auto" && user !== undefined && !isTls),
    ...(user !== undefined && { auth: { user, pass: password ?? "" } }),
    socket,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: answerMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function paragraphOf(notice: Notice): string {
  const { alert } = notice;
  const top = Object.entries(alert.top)
    .slice(0, 10)
    .map(([field, values]) => {
      const shown = values.slice(0, 3).map(({ value, share }) => `${oneLine(value)} ${Math.round(100 * share)} %`);
      return `  ${field}: ${shown.join(", ")}`;
    });
  const since = `  since ${new Date(alert.since).toISOString().replace(/\.\d+/, "")}, alert ${alert.id}`;
  return [textOf(notice), since, ...top, ""].join("\n");
}

interface MailError extends Error {
  readonly responseCode?: number | undefined;
  readonly command?: string | undefined;
  readonly code?: string | undefined;
  readonly recipient?: string | undefined;
}

function failureOf(error: MailError): DeliveryError {
  const { responseCode = 0, command = "", code = "", message } = error;
  const isContent = responseCode >= 500 && (command === "DATA" || responseCode === 552);
  const isOperator = code === "EAUTH" || code === "EENVELOPE" || (responseCode >= 500 && !isContent);
  const blame = isContent ? "record" : isOperator ? "operator" : "store";
  return new DeliveryError(blame, `smtp_${responseCode}`, `the mail server: ${message}`, { cause: error });
}
