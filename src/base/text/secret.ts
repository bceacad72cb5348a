import { inspect } from "node:util";

/** A value that never prints: not in logs, not in JSON, not in messages. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get isSet(): boolean {
    return this.#text !== "";
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "(secret)";
  }

  toJSON(): string {
    return "(secret)";
  }

  [inspect.custom](): string {
    return "(secret)";
  }
}
