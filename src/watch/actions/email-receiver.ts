import { createTransport, type Transporter } from "nodemailer";
import { DeliveryError } from "../../output/index.ts";
import { defaulted, mapping, oneOf, oneOrList, optional, required, scalar } from "../../base/yaml/index.ts";
import { oneLine, textOf, type Notice } from "../alerts.ts";
import type { Receiver } from "./receiver.ts";

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

const connectMs = 20_000;
/** What looks for spam may take its time before it takes a message; one that is sent again is there twice (RFC 5321, 4.5.3.2.6). */
const answerMs = 300_000;

/** Sends a message to people for all notices that wait. */
export class EmailReceiver implements Receiver {
  readonly sendMs = answerMs;
  readonly #config: EmailConfig;
  readonly #transport: Transporter;

  constructor(config: EmailConfig) {
    this.#config = config;
    const { protocol, hostname, port } = new URL(config.server);
    const isTls = protocol === "smtps:";
    const { user, password, starttls } = config;
    this.#transport = createTransport({
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? (isTls ? 465 : 25) : Number(port),
      secure: isTls,
      ignoreTLS: starttls === "off",
      requireTLS: starttls === "required" || (starttls === "auto" && user !== undefined && !isTls),
      ...(user !== undefined && { auth: { user, pass: password ?? "" } }),
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      socketTimeout: answerMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  async send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const [first] = notices;
    if (first === undefined) return;
    const { from, to } = this.#config;
    const subject = notices.length === 1 ? textOf(first) : `${notices.length} notices: ${textOf(first)}`;
    const message = {
      from,
      to: [...to],
      subject: subject.slice(0, 200),
      text: notices.map(paragraphOf).join("\n"),
      // The same when it is sent again, so that mail systems show it once.
      messageId: `<${first.id}-${notices.length}@${from.slice(from.indexOf("@") + 1)}>`,
      headers: { "Auto-Submitted": "auto-generated" },
    };
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    try {
      await Promise.race([this.#transport.sendMail(message), stopped]);
    } catch (error) {
      throw signal.aborted ? error : failureOf(error as MailError);
    }
  }

  close(): void {
    this.#transport.close();
  }
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
  readonly responseCode?: number;
  readonly command?: string;
  readonly code?: string;
}

function failureOf(error: MailError): DeliveryError {
  const { responseCode = 0, command = "", code = "", message } = error;
  const isContent = responseCode >= 500 && (command === "DATA" || responseCode === 552);
  const isOperator = code === "EAUTH" || code === "EENVELOPE" || (responseCode >= 500 && !isContent);
  const blame = isContent ? "record" : isOperator ? "operator" : "store";
  return new DeliveryError(blame, `smtp_${responseCode}`, `the mail server: ${message}`, { cause: error });
}
