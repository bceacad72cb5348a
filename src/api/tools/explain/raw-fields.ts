const text = String.raw`"(?:[^"\\]|\\.)*"`;
const pair = new RegExp(String.raw`(${text}):(\[[^\]"]*(?:${text}[^\]"]*)*\]|${text}|[^,}]+)`, "gs");

/** The fields of a flat JSON object, their values as they stand in it: numbers may be longer than JavaScript has them. */
export function rawFields(json: string): readonly (readonly [name: string, value: string])[] {
  return Array.from(json.matchAll(pair), ([, name = "", value = ""]) => [JSON.parse(name) as string, value] as const);
}
