import {
  annotationAnswers,
  collectorMethods,
  exploreAnswers,
  filterAnswers,
  reportAnswers,
  savedViewAnswers,
} from "../src/server/index.ts";

/** @returns the types of what the collector answers, for the pages, which import nothing of it. */
export function answerTypes(): string {
  const views = Object.entries(collectorMethods).map(
    ([name, { get, answer }]) => [name, { call: `GET ${get}`, answer }] as const,
  );
  const types = [
    ...views,
    ...Object.entries({
      ...exploreAnswers,
      ...filterAnswers,
      ...annotationAnswers,
      ...reportAnswers,
      ...savedViewAnswers,
    }),
  ].map(
    ([name, { call, answer }]) =>
      `/** What \`${call}\` answers. */\nexport type ${name.charAt(0).toUpperCase()}${name.slice(1)}Answer = ${answer.type};\n`,
  );
  const head = "// Written by `npm run generate` from the tables of src/server/methods/.\n";
  return [head, ...types].join("\n");
}
