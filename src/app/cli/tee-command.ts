import { InvalidArgumentError, Option } from "commander";
import { parseAddress } from "../../base/ip/index.ts";
import { logFormats, logLevels, type LogFormat, type LogLevel } from "../../base/report/index.ts";
import type { DefineCommand } from "./command.ts";

/** An address or a name, and a port. An empty host means all addresses of this one. */
export interface HostPort {
  /** The original text. */
  readonly text: string;
  readonly host: string;
  readonly port: number;
}

export interface TeeCommandOptions {
  readonly listen: HostPort;
  readonly to: readonly HostPort[];
  readonly mtu: number;
  readonly metrics?: HostPort;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** Defines `tee`: passes flow datagrams on to other collectors. */
export const defineTee: DefineCommand = (tee, { terminal, setExitCode }) => {
  tee
    .requiredOption("--listen <[address:]port>", "where datagrams come in", listenPlace)
    .requiredOption("--to <host:port>", "a collector; may be repeated", addTarget)
    .option("--mtu <bytes>", "the longest payload of a datagram that is sent", mtu, 1472)
    .option(
      "--metrics <[address:]port>",
      "where /metrics is answered (without an address: on this host alone)",
      listenPlace,
    )
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("info"))
    .addOption(new Option("--log-format <format>", "how it is logged").choices(logFormats).default("text"))
    .action(async (options: TeeCommandOptions) => {
      const { runTee } = await import("./run-tee.ts");
      setExitCode(await runTee(options, terminal));
    });
};

const expectedPlace = "expected a port, or an address and a port: 2055, 192.0.2.1:2055, [2001:db8::1]:2055.";

function listenPlace(text: string): HostPort {
  const place = /^\d+$/.test(text) ? placeOf("", text, text) : splitPlace(text);
  const isAddress = place !== undefined && (place.host === "" || parseAddress(place.host) !== undefined);
  if (!isAddress) throw new InvalidArgumentError(expectedPlace);
  return place;
}

function addTarget(text: string, before: readonly HostPort[] = []): readonly HostPort[] {
  const place = splitPlace(text);
  if (place === undefined || place.host === "" || place.port === 0) {
    throw new InvalidArgumentError(
      "expected a host and a port: 192.0.2.1:2055, [2001:db8::1]:2055, collector.example.com:2055.",
    );
  }
  if (before.some((one) => one.text === text)) throw new InvalidArgumentError("it is given twice.");
  return [...before, place];
}

function splitPlace(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:\s[\]]*)):(\d+)$/.exec(text);
  if (match === null) return undefined;
  const [, bracketed, plain, port = ""] = match;
  if (bracketed !== undefined && !bracketed.includes(":")) return undefined;
  return placeOf(bracketed ?? plain ?? "", port, text);
}

function placeOf(host: string, port: string, text: string): HostPort | undefined {
  return Number(port) > 65_535 ? undefined : { text, host, port: Number(port) };
}

function mtu(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 512 || value > 65_507) {
    throw new InvalidArgumentError("expected a number of bytes from 512 to 65507.");
  }
  return value;
}
