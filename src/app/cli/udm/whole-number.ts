import { InvalidArgumentError } from "commander";

/** A number of 1 or more. */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}
