import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";
import type { Clock } from "../../base/report/index.ts";
import type { SettingRows } from "../../base/settings/index.ts";
import { bool, defaulted, list, mapping, oneOf, optional, required, scalar } from "../../base/yaml/index.ts";
import { createAdapter, outputKinds, type OutputAdapter, type SettingsOf } from "../../output/index.ts";
import { recordOf, type Notice } from "../alerts.ts";
import { blackhole, flowspec } from "../answers/index.ts";
import { readSpan } from "../condition.ts";
import { email, EmailReceiver } from "./email-receiver.ts";
import { QuietHours, quietTime, timeZone } from "./quiet-hours.ts";
import { Alertmanager, alertmanager, Webhook, webhook, type Receiver, type ReceiverSurroundings } from "./receiver.ts";

const argument = scalar("a text of up to 1000 characters", (text) =>
  text.length <= 1000 && !text.includes("\0") ? text : undefined,
);
const timeout = scalar("a time from 1s to 300s", (text) => readSpan(text, 300_000));

const command = mapping(
  {
    run: required(
      list(argument, "argument"),
      "The program by its absolute path, and its arguments; there is no shell. The notices are its input, as a webhook gets them; exit code 0 takes them.",
    ),
    timeout: defaulted(timeout, 10_000, "After this time it is killed, with what it has started."),
  },
  {
    check({ run = [] }, at) {
      const [program] = run;
      if (program === undefined || !isAbsolute(program)) at.error("run: the program needs an absolute path");
    },
  },
);

type CommandConfig = NonNullable<ReturnType<typeof command.read>>;

const mostOutput = 4096;

/** A receiver that runs a program on this host and writes notices to its standard input. */
class CommandReceiver implements Receiver {
  readonly sendMs: number;
  readonly #config: CommandConfig;

  constructor(config: CommandConfig) {
    this.#config = config;
    this.sendMs = config.timeout;
  }

  send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const [program = "", ...args] = this.#config.run;
    // The program gets only the variables that programs need to find others: the settings in our environment contain secrets.
    const env = { PATH: process.env["PATH"] ?? "", LANG: process.env["LANG"] ?? "C.UTF-8" };
    const child = spawn(program, args, {
      shell: false,
      detached: true,
      cwd: "/",
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let output = "";
    if (child.pid === undefined)
      // Without free file descriptors the child has no streams either.
      return new Promise((_, reject) => {
        child.once("error", (error) => reject(new Error(`${program} cannot be run: ${error.message}`)));
      });
    const take = (part: Buffer): void => void (output = `${output}${part.toString()}`.slice(0, mostOutput));
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    // A program that does not read its input is no error.
    child.stdin.on("error", () => {});
    child.stdin.end(`${JSON.stringify({ notices })}\n`);
    return new Promise((resolve, reject) => {
      const kill = (): void => {
        killGroup(child.pid);
        const late = `${program} took longer than ${this.#config.timeout / 1000} s and was killed`;
        reject(new Error((signal.reason as Error).name === "TimeoutError" ? late : "the collector stops"));
      };
      const settled = (): void => signal.removeEventListener("abort", kill);
      signal.addEventListener("abort", kill, { once: true });
      // It waits for the exit, not for the end of the output: a background process of the program may keep the output open.
      child.once("exit", (code, killedBy) => {
        settled();
        child.stdout.destroy();
        child.stderr.destroy();
        const said = output
          .trim()
          .replaceAll(/\p{Cc}+/gu, " ")
          .slice(0, 300);
        if (code === 0) resolve();
        else
          reject(
            new Error(`${program} ended with ${killedBy ?? `exit code ${code}`}${said === "" ? "" : `: ${said}`}`),
          );
      });
    });
  }

  close(): void {
    // There is nothing to close.
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The program has already ended.
  }
}

const address = scalar("an address such as syslog.example.com:514", (text) =>
  /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255}):\d{1,5}$/.test(text) && Number(text.split(":").at(-1)) <= 65_535
    ? text
    : undefined,
);

const syslog = mapping({
  address: required(address, "The receiver, with its port."),
  protocol: defaulted(
    oneOf(["tcp", "tls", "udp"]),
    "tcp",
    "By `tcp` and `tls` the receiver must read what is sent and close the connection; by `udp` what is lost is not noticed.",
  ),
  facility: defaulted(
    oneOf(["daemon", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"]),
    "local0",
    "The facility of the messages; their severity is `warning`.",
  ),
});

type SyslogConfig = NonNullable<ReturnType<typeof syslog.read>>;

/** Returns the settings of the syslog output: their defaults, with the values of the action. */
function settingsOf({ address: at, protocol, facility }: SyslogConfig): SettingsOf<"SYSLOG"> {
  const rows: SettingRows = outputKinds.find(({ word }) => word === "SYSLOG")?.rows ?? {};
  const usual = Object.fromEntries(Object.entries(rows).map(([name, { default: value }]) => [name, value]));
  return {
    ...(usual as SettingsOf<"SYSLOG">),
    ADDRESSES: [at],
    PROTOCOL: protocol === "udp" ? "udp" : "tcp",
    TLS_ENABLE: protocol === "tls",
    FACILITY: facility,
    SEVERITY: "warning",
  };
}

/** A receiver that sends the record of each notice as a syslog message (RFC 5424), through the syslog output. */
class SyslogReceiver implements Receiver {
  readonly #config: SyslogConfig;
  readonly #clock: Clock;
  readonly #run: string;
  #adapter: Promise<OutputAdapter> | undefined;
  #batches = 0;

  constructor(config: SyslogConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#run = clock.now().toString(36);
  }

  async send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const bytes = Buffer.from(notices.map((notice) => recordOf(notice, now)).join(""));
    const id = { instance: this.#run, number: this.#batches++ };
    this.#adapter ??= createAdapter("SYSLOG", settingsOf(this.#config), { clock: this.#clock });
    const batch = { id, chunks: [bytes], count: notices.length, byteLength: bytes.length, oldestAt: now };
    const { fault, retry, refused } = await (await this.#adapter).send(batch, signal);
    if (retry.length > 0 || refused.length > 0)
      throw fault ?? new Error(refused[0]?.reason ?? "the receiver of syslog does not take all messages");
  }

  close(): void {
    void this.#adapter?.then((adapter) => adapter.close());
  }
}

const group = scalar("a time from 0s to 1h", (text) => (/^0+[smh]$/.test(text) ? 0 : readSpan(text, 3_600_000)));

/** The maximum number of notices of one rule in a period. */
interface NoticeLimit {
  readonly count: number;
  readonly perMs: number;
}

const limit = scalar("such as `20 per 10m`, up to 1000 in up to 24h", (text): NoticeLimit | undefined => {
  const [, count, span = ""] = /^(\d{1,4}) per (\S+)$/.exec(text) ?? [];
  const perMs = readSpan(span, 86_400_000);
  const most = Number(count);
  return perMs !== undefined && most >= 1 && most <= 1000 ? { count: most, perMs } : undefined;
});

/** During a storm of alerts people read only the first notices. */
const usualLimit: NoticeLimit = { count: 100, perMs: 600_000 };

const kinds = ["webhook", "alertmanager", "email", "syslog", "command", "blackhole", "flowspec"] as const;

/** The shape of an action in the file: exactly one receiver or answer, and when it sends. */
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
    ended: defaulted(bool, true, "Whether it gets a notice when an alert has ended."),
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

/** Returns the receiver of an action. */
export function createReceiver(config: ActionConfig, { clock, log }: ReceiverSurroundings): Receiver {
  if (config.webhook !== undefined) return new Webhook(config.webhook, clock);
  if (config.alertmanager !== undefined) return new Alertmanager(config.alertmanager, clock);
  if (config.email !== undefined) return new EmailReceiver(config.email, log);
  if (config.syslog !== undefined) return new SyslogReceiver(config.syslog, clock);
  if (config.command !== undefined) return new CommandReceiver(config.command);
  throw new TypeError("an action of no kind");
}

/** Returns the quiet hours of an action, in which it sends nothing. */
export function quietHoursOf({ quiet, zone }: ActionConfig): QuietHours {
  return new QuietHours(quiet, zone);
}
