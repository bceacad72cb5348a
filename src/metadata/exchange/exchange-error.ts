/** A request that cannot be begun: a map that says nothing sensible, an unknown format, a text without rows. */
export class ExchangeError extends Error {
  /** What was wrong, as a path: `map.columns["Prefix"].take`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = "ExchangeError";
    this.field = field;
  }
}
