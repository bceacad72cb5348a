import type { Clock } from "../../base/report/index.ts";
import { defaulted, mapping, oneOf, required, scalar } from "../../base/yaml/index.ts";
import type { SettingRows } from "../../base/settings/index.ts";
import { createAdapter, outputKinds, type OutputAdapter, type SettingsOf } from "../../output/index.ts";
import { recordOf, type Notice } from "../alerts.ts";
import type { Receiver } from "./receiver.ts";

const address = scalar("an address such as syslog.example.com:514", (text) =>
  /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255}):\d{1,5}$/.test(text) && Number(text.split(":").at(-1)) <= 65_535
    ? text
    : undefined,
);

export const syslog = mapping({
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

/** The settings of the output to syslog, as they are where nobody sets them, with those of an action. */
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

/** Sends the record of each notice as a message of syslog (RFC 5424), by the output of that name. */
export class SyslogReceiver implements Receiver {
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
