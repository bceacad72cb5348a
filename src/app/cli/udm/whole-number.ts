import { InvalidArgumentError } from "commander";

/** The number of a change after which others come; after 0 are all. */
export function afterNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected the number of a change, or 0.");
  return Number(text);
}

/** A number of 1 or more. */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}
