import { readFileSync } from "node:fs";
import { InvalidArgumentError, Option, type Command } from "commander";
import { CommandError, type Terminal } from "../terminal.ts";
import {
  type ApiPlace,
  type Credentials,
  placeOfSettings,
  placeOfUrl,
  createApiClient,
  type ApiClient,
} from "./api-call.ts";
import { type Profile, pathOfProfiles, readProfile } from "./profile.ts";
import { defaultApi } from "../../settings/settings-source.ts";
import { environmentSettings } from "../../settings/settings-source.ts";
import { addConfigOption, commandSettings } from "../command.ts";

interface Sources {
  readonly options: { readonly user?: string; readonly passwordFile?: string; readonly tokenFile?: string };
  readonly profile: Profile;
  /** The place from a URL or the settings. */
  readonly found: ApiPlace;
  readonly readText: (option: string, path: string) => string;
}

/**
 * Finds the credentials: a token or a user's password from a flag, else from the environment, the URL, the profile, or the settings.
 * The terminal asks for a missing password, without an echo.
 *
 * @throws CommandError `usage` for a password without a user.
 */
async function credentialsOf(sources: Sources, terminal: Terminal): Promise<Credentials | undefined> {
  const { options, profile, found } = sources;
  const { env } = terminal;
  const firstLine = (option: string, path: string): string => sources.readText(option, path).split(/\r?\n/)[0] ?? "";
  const token = (text: string): Credentials => ({ kind: "token", token: text.trim() });

  if (options.tokenFile !== undefined) return token(firstLine("--token-file", options.tokenFile));
  const passwordOfEnvironment = (): string | undefined => {
    if (env["NETGLOSS_PASSWORD"] !== undefined) return env["NETGLOSS_PASSWORD"];
    const path = env["NETGLOSS_PASSWORD_FILE"];
    return path === undefined ? undefined : firstLine("NETGLOSS_PASSWORD_FILE", path);
  };
  const user = options.user ?? env["NETGLOSS_USER"];
  if (options.user === undefined && options.passwordFile === undefined) {
    if (env["NETGLOSS_TOKEN"] !== undefined && env["NETGLOSS_TOKEN"] !== "") return token(env["NETGLOSS_TOKEN"]);
    const path = env["NETGLOSS_TOKEN_FILE"];
    if (path !== undefined) return token(firstLine("NETGLOSS_TOKEN_FILE", path));
    if (user === undefined && found.credentials !== undefined) return found.credentials;
    if (user === undefined && profile.tokenFile !== undefined) {
      return token(firstLine("token_file of the profile", profile.tokenFile));
    }
  }
  const name = user ?? profile.user;
  if (name === undefined && options.passwordFile !== undefined) {
    throw new CommandError("usage", "--password-file is of a user: give --user, or NETGLOSS_USER");
  }
  if (name === undefined) return found.credentials;
  const password =
    (options.passwordFile !== undefined ? firstLine("--password-file", options.passwordFile) : undefined) ??
    passwordOfEnvironment() ??
    (profile.passwordFile !== undefined && (user === undefined || user === profile.user)
      ? firstLine("password_file of the profile", profile.passwordFile)
      : undefined) ??
    (await terminal.ask(`Password of ${name}: `, { hidden: true }));
  return { kind: "password", user: name, password: password ?? "" };
}

interface ClientOptions {
  readonly url?: string;
  readonly profile?: string;
  readonly ca?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly tokenFile?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly scope?: string;
  readonly names?: boolean;
  readonly config?: readonly string[];
}

/** Adds the options of a command that asks a running collector. */
export function addClientOptions(command: Command): Command {
  return addConfigOption(command)
    .option(
      "--url <url>",
      "the URL of the API (or NETGLOSS_URL; default: of the profile, or from the settings)",
      httpUrl,
    )
    .option("--profile <name>", "a profile of ~/.config/netgloss/config.yml (or NETGLOSS_PROFILE)")
    .option("--user <name>", "who asks (or NETGLOSS_USER); without a password from elsewhere it is asked for")
    .option("--password-file <file>", "a file with the password (or NETGLOSS_PASSWORD, NETGLOSS_PASSWORD_FILE)")
    .option("--token-file <file>", "a file with an API token (or NETGLOSS_TOKEN, NETGLOSS_TOKEN_FILE)")
    .option("--ca <file>", "certificates in PEM to trust, in addition to those of the system (or NETGLOSS_CA)")
    .option("--cert <file>", "the client's own certificate in PEM")
    .option("--key <file>", "its key in PEM (default: in the file of the certificate)");
}

/** Adds these options to a command about the metadata, which may be in a scope. */
export function addScopedOptions(command: Command): Command {
  return addClientOptions(command).option(
    "--scope <name>",
    "the scope whose entries are meant (or NETGLOSS_SCOPE; default: those of no scope, or the only one of who asks)",
    (text) => {
      if (isSendable(text)) return text;
      throw new InvalidArgumentError(expectedScope);
    },
  );
}

/** Adds these options, and one that switches the command to names. */
export function addEntryOptions(command: Command): Command {
  return addScopedOptions(command).addOption(
    new Option("--names", "names of interfaces, AS numbers, VLANs, ports and MAC addresses are meant").conflicts(
      "scope",
    ),
  );
}

/** Returns the client of a command with {@link addClientOptions} or {@link addScopedOptions}. */
export async function clientOf(command: Command, terminal: Terminal): Promise<ApiClient> {
  return createApiClient(await placeOf(command, terminal));
}

/**
 * Finds the collector that a command asks, and the credentials. A flag wins, then the environment, then the profile, then the settings
 * of a collector on this host. A profile that is only the current one is overridden by `--config`.
 *
 * @throws SettingsError; CommandError `usage` for a file that cannot be read or a profile that does not exist.
 */
export async function placeOf(command: Command, terminal: Terminal): Promise<ApiPlace> {
  const options = command.opts<ClientOptions>();
  const { env } = terminal;
  const givenUrl = options.url ?? (options.profile === undefined ? checkedUrl(env["NETGLOSS_URL"]) : undefined);
  const profile = await profileOf(options, terminal, givenUrl);
  const url = givenUrl ?? profile.url;
  const found = url === undefined ? await localPlace(command, terminal) : placeOfUrl(url);

  const file = (option: string, path: string | undefined): string | undefined =>
    path === undefined ? undefined : readText(option, path);
  const ca = file("--ca", options.ca ?? env["NETGLOSS_CA"] ?? profile.ca);
  const cert = file("--cert", options.cert ?? profile.cert);
  const key = file("--key", options.key ?? profile.key);
  for (const [option, text] of Object.entries({ "--ca": ca, "--cert": cert })) {
    if (text !== undefined && !text.includes("-----BEGIN CERTIFICATE-----")) fail(`${option}: no certificate in PEM`);
  }
  const { names = false } = options;
  const scope = options.scope ?? (takesScope(command) && !names ? checkedScope(env["NETGLOSS_SCOPE"] ?? "") : "");
  const credentials = await credentialsOf({ options, profile, found, readText }, terminal);
  return {
    ...found,
    ...(credentials !== undefined && { credentials }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(scope !== "" && { scope }),
    ...(names && { names }),
  };
}

const takesScope = (command: Command): boolean => command.options.some(({ long }) => long === "--scope");

const expectedScope = "expected the name of a scope: lower-case letters, digits, _ and -.";

/** Reports whether a text may stand in a header. Only the collector knows whether such a scope exists. */
const isSendable = (text: string): boolean => /^[!-~]*$/.test(text);

function checkedScope(text: string): string {
  return isSendable(text) ? text : fail(`NETGLOSS_SCOPE: ${expectedScope}`);
}

/** Returns the collector on this host. If nothing is set, its address is known without loading the table of settings. */
async function localPlace(command: Command, terminal: Terminal): Promise<ApiPlace> {
  const isSet = command.opts<ClientOptions>().config !== undefined || environmentSettings(terminal.env).length > 0;
  if (!isSet) return placeOfUrl(`http://${defaultApi.ip}:${defaultApi.port}`);
  return placeOfSettings((await commandSettings(command, terminal)).settings);
}

function fail(message: string): never {
  throw new CommandError("usage", message);
}

/** Returns the requested profile, or else the current one if nothing else names a collector. */
async function profileOf(options: ClientOptions, terminal: Terminal, givenUrl: string | undefined): Promise<Profile> {
  const name = options.profile ?? terminal.env["NETGLOSS_PROFILE"];
  const isElsewhere = options.config !== undefined || givenUrl !== undefined;
  if (isElsewhere && options.profile === undefined) return {};
  return readProfile(pathOfProfiles(terminal.env), name, fail);
}

function readText(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return fail(`${option}: ${(error as Error).message}`);
  }
}

function checkedUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return isHttpUrl(text) ? text : fail(`NETGLOSS_URL: ${expectedUrl}`);
}

const expectedUrl = "expected a URL such as https://netgloss.example.com:8080.";

function httpUrl(text: string): string {
  if (!isHttpUrl(text)) throw new InvalidArgumentError(expectedUrl);
  return text;
}

function isHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search + url.hash === "";
}
