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
