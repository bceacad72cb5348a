/**
 * Makes a function of source text. Only numbers and texts rendered as JSON may get into the text, never a name as it came
 * from the network.
 *
 * @param inputs what the source knows by name.
 * @param body of a function that returns the one to be made.
 * @throws EvalError where code may not be made from text (`--disallow-code-generation-from-strings`).
 */
export function makeFunction(inputs: Readonly<Record<string, unknown>>, body: string): unknown {
  // oxlint-disable-next-line typescript/no-implied-eval -- this is what a compiler does
  const make = new Function(...Object.keys(inputs), `"use strict";\n${body}`) as (
    ...values: readonly unknown[]
  ) => unknown;
  return make(...Object.values(inputs));
}
