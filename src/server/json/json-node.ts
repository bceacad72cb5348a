/**
 * A number as it is spelt: JSON numbers have any precision, and a 64-bit value must not pass through a double.
 */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON value with nothing lost: numbers as spelt, names (`__proto__` too) in a Map. */
export type JsonNode = null | boolean | string | JsonNumber | readonly JsonNode[] | ReadonlyMap<string, JsonNode>;
