/** A value of a field, as records have it; null: they lack the field. */
export type FieldValue = string | number | boolean | null;

/** The term of docs/filters.md that matches records with this value, or those without it. */
export function filterTerm(field: string, value: FieldValue, isExcluded = false): string {
  const name = /^[\w@.]+$/.test(field) && !field.startsWith("@") ? field : `\`${field}\``;
  if (value === null) return `${name} ${isExcluded ? "exists" : "not exists"}`;
  return `${name} ${isExcluded ? "!=" : "="} ${literal(value)}`;
}

/** A filter that is true where `filter` and `term` are. */
export function andTerm(filter: string, term: string): string {
  const before = filter.trim();
  if (before === "") return term;
  if (hasTerm(before, term)) return before;
  // `and` binds closer than `or`; behind a comment nothing of the line counts.
  const needsBrackets = /\bor\b|\|\||#/i.test(before);
  return `${needsBrackets ? bracketed(before) : before} and ${term}`;
}

/** A filter that is true where both are, whatever terms they have; one of them may be empty. */
export function bothFilters(one: string, other: string): string {
  if (one.trim() === "" || other.trim() === "") return one.trim() === "" ? other : one;
  return andTerm(one, bracketed(other));
}

const bracketed = (filter: string): string => `(${filter}${filter.includes("#") ? "\n" : ""})`;

/** A name, a value or a word of the language without quotes. */
const word = /[^\s"'`()[\]{},=!<>~#&|]+/y;

/** Terms that a plain chain of `and` consists of; a single one for any other filter. */
export function termsOf(filter: string): readonly string[] {
  const text = filter.trim();
  if (text === "") return [];
  const parts: string[] = [];
  let quote = "";
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (quote !== "") {
      if (letter === "\\" && quote === '"') at++;
      else if (letter === quote) quote = "";
      continue;
    }
    if (letter === '"' || letter === "'" || letter === "`") quote = letter;
    else if ("([{".includes(letter)) depth++;
    else if (")]}".includes(letter)) depth--;
    else if (letter === "#") return [text];
    else if (depth === 0) {
      if (text.startsWith("||", at)) return [text];
      word.lastIndex = at;
      const [found = ""] = word.exec(text) ?? [];
      if (/^or$/i.test(found)) return [text];
      if (/^and$/i.test(found)) {
        parts.push(text.slice(start, at).trim());
        start = at + found.length;
      }
      at += Math.max(0, found.length - 1);
    }
  }
  return [...parts, text.slice(start).trim()];
}

/** A chain of `and` without one of its terms. */
export function withoutTerm(filter: string, index: number): string {
  return termsOf(filter)
    .filter((_, at) => at !== index)
    .join(" and ");
}

const hasTerm = (filter: string, term: string): boolean => termsOf(filter).includes(term);

function literal(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  // Addresses stand without quotes; so may texts, but words of the language may not.
  return /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]+)$/i.test(value) ? value : JSON.stringify(value);
}
