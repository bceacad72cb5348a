/** What `GET /api/v1/settings` says. */
export interface SettingsAnswer {
  readonly version: string;
  readonly node: string;
  readonly instance: string;
  readonly startedAt: number;
  readonly settings: readonly Setting[];
  readonly unknown: readonly string[];
  readonly warnings: readonly string[];
  readonly reload: { readonly readsAgain: readonly string[]; readonly leavesAlone: readonly string[] };
  readonly restart: { readonly changes: readonly SettingChange[]; readonly problems: readonly string[] };
  readonly packages: readonly { readonly name: string; readonly version: string; readonly license: string }[];
}

export interface Setting {
  readonly name: string;
  readonly group: string;
  readonly help: string;
  readonly expected: string;
  readonly value?: string;
  readonly isSecret?: boolean;
  readonly isSet?: boolean;
  readonly default: string;
  readonly origin: string;
}

export interface SettingChange {
  readonly name: string;
  readonly inForce?: string;
  readonly next?: string;
  readonly isSecret?: boolean;
  readonly origin: string;
}

/** A value as it is shown: what is empty says so, what is secret hides. */
export function shownValue({
  value,
  isSecret = false,
  isSet = false,
}: Pick<Setting, "value" | "isSecret" | "isSet">): string {
  if (isSecret) return isSet ? "hidden" : "not set";
  return value === undefined || value === "" ? "empty" : value;
}
