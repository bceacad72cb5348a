/** The settings cannot be used. Every problem is one line that says where, what, and what is expected. */
export class SettingsError extends Error {
  readonly code = "bad_settings";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
    this.problems = problems;
  }
}

/** The address of the API unless the settings say otherwise. */
export const defaultApi = { ip: "127.0.0.1", port: 8080 } as const;

/** A setting as someone gave it. */
export interface GivenSetting {
  readonly name: string;
  readonly text: string;
  /** The position of the setting, for messages: `environment`, `flag --svc-api-port`, `netgloss.yml:3:1`. */
  readonly origin: string;
  /** Why the text is empty although something was given: it could not be filled in. */
  readonly unfilled?: string;
}

/** The settings in the environment: all variables that start with `SVC_` or `EF_`. */
export function environmentSettings(env: Readonly<Record<string, string | undefined>>): GivenSetting[] {
  return Object.entries(env)
    .filter((entry): entry is [string, string] => /^(?:SVC|EF)_/.test(entry[0]) && entry[1] !== undefined)
    .map(([name, text]) => ({ name, text, origin: "environment" }));
}

/** The flag of a setting: `--svc-api-port` for `SVC_API_PORT`. */
export function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll("_", "-")}`;
}
