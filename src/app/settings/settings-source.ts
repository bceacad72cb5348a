/** The error of settings that cannot be used. Every problem is one line with its place, the fault, and the expected value. */
export class SettingsError extends Error {
  readonly code = "bad_settings";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
    this.problems = problems;
  }
}

/** The default address of the API. */
export const defaultApi = { ip: "127.0.0.1", port: 8080 } as const;

/** A setting as it was given. */
export interface GivenSetting {
  readonly name: string;
  readonly text: string;
  /** The position of the setting, for messages: `environment`, `flag --svc-api-port`, `netgloss.yml:3:1`. */
  readonly origin: string;
  /** The reason for an empty text although something was given: a variable in it has no value. */
  readonly unfilled?: string;
}

/** Returns the settings in the environment: all variables that start with `SVC_` or `EF_`. */
export function environmentSettings(env: Readonly<Record<string, string | undefined>>): GivenSetting[] {
  return Object.entries(env)
    .filter((entry): entry is [string, string] => /^(?:SVC|EF)_/.test(entry[0]) && entry[1] !== undefined)
    .map(([name, text]) => ({ name, text, origin: "environment" }));
}

/** Returns the flag of a setting: `--svc-api-port` for `SVC_API_PORT`. */
export function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll("_", "-")}`;
}
