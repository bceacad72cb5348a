import { readFileSync } from "node:fs";
import { InvalidArgumentError, type Command } from "commander";
import { addConfigOption, commandSettings } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";
import { apiPlace, type ApiPlace } from "./udm-client.ts";

/** Adds the options of a command that asks a running collector. */
export function addClientOptions(command: Command): Command {
  return addConfigOption(command)
    .helpGroup("Through the API:")
    .option("--url <url>", "the URL of the API, optionally with user:password@ (default: from the settings)", httpUrl)
    .option("--ca <file>", "certificates in PEM to trust, in addition to those of the system");
}

/**
 * Where the collector is that a command asks.
 *
 * @throws SettingsError; InvalidArgumentError for a file of certificates that cannot be read.
 */
export async function placeOf(command: Command, terminal: Terminal): Promise<ApiPlace> {
  const { url, ca } = command.opts<{ url?: string; ca?: string }>();
  const place = url === undefined ? apiPlace((await commandSettings(command, terminal)).settings) : { url };
  return ca === undefined ? place : { ...place, ca: readCertificates(ca, command) };
}

function readCertificates(path: string, command: Command): string {
  try {
    const text = readFileSync(path, "utf8");
    if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  } catch (error) {
    return command.error(`error: --ca: ${(error as Error).message}`);
  }
  return command.error(`error: --ca: ${path} has no certificate in PEM`);
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search + url.hash !== "") {
    throw new InvalidArgumentError("expected a URL such as https://netgloss.example.com:8080.");
  }
  return text;
}
