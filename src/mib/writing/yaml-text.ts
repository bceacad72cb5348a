const width = 116;
const longest = 600;

/** A text as a YAML comment of several lines, no longer than 600 characters. */
export function comment(text: string, indent: string): string[] {
  // A comment ends with its line, so nothing in it may look like the end of one.
  const clean = text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim();
  const shown = clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
  const lines: string[] = [];
  let line = "";
  for (const word of shown.split(" ")) {
    if (line !== "" && indent.length + 3 + line.length + word.length > width) {
      lines.push(`${indent}# ${line}`);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  if (line !== "") lines.push(`${indent}# ${line}`);
  return lines;
}

/** A question that a person has to answer; `questions` in reports counts these. */
export function question(text: string, indent: string): string[] {
  return comment(`question: ${text}`, indent);
}

/** A text in single quotes. */
export function quoted(text: string): string {
  return `'${text.replace(/[\p{Cc}\u2028\u2029]/gu, " ").replaceAll("'", "''")}'`;
}
