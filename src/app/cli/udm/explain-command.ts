import { InvalidArgumentError, Option } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { CommandError } from "../command-error.ts";
import type { DefineCommand } from "../command-row.ts";
import { callTools } from "./tools-json.ts";

interface ExplainOptions {
  readonly context?: string;
  readonly port?: Port;
  readonly interface?: Netif;
  readonly output: "table" | "json" | "yaml";
}

interface Port {
  readonly port: number;
  readonly protocol: number;
}

interface Netif {
  readonly exporter: string;
  readonly ifIndex: number;
}

const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, dccp: 33, sctp: 132, udplite: 136 };

function readPort(text: string): Port {
  const [, number = "", protocol = "tcp"] = /^(\d{1,5})(?:\/(\w+))?$/.exec(text) ?? [];
  const port = Number(number);
  const id = protocols[protocol.toLowerCase()] ?? (/^\d{1,3}$/.test(protocol) ? Number(protocol) : 0);
  if (port < 1 || port > 65_535 || id < 1 || id > 255) {
    throw new InvalidArgumentError(
      "Expected a port from 1 to 65535, and tcp, udp, sctp, dccp or a number behind a slash.",
    );
  }
  return { port, protocol: id };
}

function readNetif(text: string): Netif {
  const [, exporter = "", index = ""] = /^(.+)@(\d{1,10})$/.exec(text) ?? [];
  const ifIndex = Number(index);
  if (ifIndex < 1 || ifIndex > 0xffff_ffff) {
    throw new InvalidArgumentError("Expected the address of an exporter, @ and an ifIndex: 192.0.2.1@5.");
  }
  return { exporter, ifIndex };
}

/** `udm explain`. */
export const defineExplain: DefineCommand = (explain, { terminal }) => {
  addClientOptions(explain)
    .addOption(
      new Option("--context <name>", "only as this end of a flow, or as this device").choices([
        "src",
        "dst",
        "exporter",
        "system",
      ]),
    )
    .addOption(new Option("--port <port>", "also what its port adds: 443, 53/udp, 2905/132").argParser(readPort))
    .addOption(
      new Option("--interface <exporter@index>", "also what is known of the interface of an exporter").argParser(
        readNetif,
      ),
    )
    .addOption(
      new Option("-o, --output <format>", "how to write it").choices(["table", "json", "yaml"]).default("table"),
    )
    .action(async (ip: string, { context = "", port, interface: netif, output }: ExplainOptions) => {
      if (/[/-]/.test(ip)) {
        throw new CommandError(
          "usage",
          `explain takes one address; what is about all of ${ip}: netgloss udm list ${ip}`,
        );
      }
      const question = { ip, context, ...port, ...netif };
      const answer = await callTools(await clientOf(explain, terminal), "ExplainAddress", question);
      if (output === "json") terminal.out(`${JSON.stringify(answer, undefined, 2)}\n`);
      else if (output === "yaml") terminal.out((await import("js-yaml")).dump(answer, { lineWidth: -1 }));
      else terminal.out((await import("./show-explanation.ts")).showExplanation(answer));
    });
};
