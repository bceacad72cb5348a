import { inspect } from "node:util";

const hidden = "(secret)";

/** A community or passphrase. It never prints: not in logs, not in JSON, not in messages. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  [inspect.custom](): string {
    return hidden;
  }
}
