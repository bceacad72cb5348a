import { CommandError } from "../command-error.ts";
import type { Terminal } from "../terminal.ts";
import type { ApiPlace, Credentials } from "./api-place.ts";
import type { Profile } from "./profile.ts";

interface Sources {
  readonly options: { readonly user?: string; readonly passwordFile?: string; readonly tokenFile?: string };
  readonly profile: Profile;
  /** What a URL or the settings say. */
  readonly found: ApiPlace;
  readonly readText: (option: string, path: string) => string;
}

/**
 * Who asks: a token or a user's password by a flag, else by the environment, by the URL, by the profile, by the settings. A user without a
 * password is asked for it at the terminal, without an echo.
 *
 * @throws CommandError `usage` for a password of nobody.
 */
export async function credentialsOf(sources: Sources, terminal: Terminal): Promise<Credentials | undefined> {
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
