import { ecsNames, fieldGroups, fieldPatterns, shortNames, type RecordField } from "../src/record/index.ts";

/**
 * A page with its tables of fields written again: each stands between `<!-- fields: <group> -->` and `<!-- end of fields -->`.
 *
 * @param elementName IANA's name of an element, empty where there is none.
 * @throws TypeError when a group is not known.
 */
export function fieldsPage(page: string, elementName: (id: number) => string): string {
  return page.replaceAll(
    /(<!-- fields: (\w+) -->\n)[^]*?(<!-- end of fields -->)/g,
    (_all, begin: string, group: string, end: string) => `${begin}${tableOf(group, elementName)}${end}`,
  );
}

function tableOf(group: string, elementName: (id: number) => string): string {
  if (group === "patterns") return patternTable();
  if (group === "ecs") return ecsTable();
  if (group === "short") return shortTable();
  const fields = Object.entries(fieldGroups).find(([name]) => name === group)?.[1];
  if (fields === undefined) throw new TypeError(`no group of fields: ${group}`);
  const rows = fields.map((field) => {
    const { name, unit, description } = field;
    const source = sourceText(field.source, elementName);
    return `| \`${name}\` | ${typeText(field)} | ${unit} | ${exampleText(field)} | ${description} | ${source} |\n`;
  });
  return `| name | type | unit | example | what | from |\n|---|---|---|---|---|---|\n${rows.join("")}`;
}

function patternTable(): string {
  const rows = fieldPatterns.map(
    ({ pattern, type, example, description, source }) =>
      `| \`${pattern}\` | ${type === "inner" ? "of the field" : type} | \`${example}\` | ${description} | ${source} |\n`,
  );
  return `| name | type | example | what | from |\n|---|---|---|---|---|\n${rows.join("")}`;
}

function ecsTable(): string {
  const rows = [...ecsNames].map(([name, ecs]) => `| \`${name}\` | \`${ecs}\` |\n`);
  return `| name | in ECS |\n|---|---|\n${rows.join("")}`;
}

function shortTable(): string {
  const rows = shortNames.map(
    ({ name, fields, description }) =>
      `| \`${name}\` | ${description} | ${fields.map((field) => `\`${field}\``).join(", ")} |\n`,
  );
  return `| short | what | stands for |\n|---|---|---|\n${rows.join("")}`;
}

function typeText({ type, isArray }: RecordField): string {
  return isArray ? `${type}[]` : type;
}

function exampleText({ example }: RecordField): string {
  return `\`${JSON.stringify(example)}\``;
}

/** `IE 8, 27` with the elements' names. */
function sourceText(source: string, elementName: (id: number) => string): string {
  return source.replaceAll(/\bIE (\d+(?:, \d+)*)/g, (_all, ids: string) =>
    ids
      .split(", ")
      .map((id) => `${elementName(Number(id))} (${id})`)
      .join(", "),
  );
}
