/**
 * A pattern of filters as one of LIKE, with backslashes as quotes: somewhere in a text, case not counting, `*` is any text, `?` any
 * character, `^` and `$` are the ends of the text, `\` takes the special meaning from the next character.
 */
export function likePattern(pattern: string): string {
  const characters = Array.from(pattern);
  const isFromStart = characters[0] === "^";
  let like = isFromStart ? "" : "%";
  for (let i = isFromStart ? 1 : 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "*") like += "%";
    else if (character === "?") like += "_";
    else if (character === "$" && i === characters.length - 1) return like;
    else like += literal(character === "\\" && i + 1 < characters.length ? (characters[++i] as string) : character);
  }
  return `${like}%`;
}

function literal(character: string): string {
  const lower = character.toLowerCase();
  return lower === "%" || lower === "_" || lower === "\\" ? `\\${lower}` : lower;
}
