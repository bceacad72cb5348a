import { collectorMethods } from "../src/server/index.ts";

/** @returns the types of what the collector answers, for the pages, which import nothing of it. */
export function answerTypes(): string {
  const types = Object.entries(collectorMethods).map(
    ([name, { get, answer }]) =>
      `/** What \`GET ${get}\` answers. */\nexport type ${name.charAt(0).toUpperCase()}${name.slice(1)}Answer = ${answer.type};\n`,
  );
  const head = "// Written by `npm run generate` from the table of methods, src/server/methods/collector-methods.ts.\n";
  return [head, ...types].join("\n");
}
