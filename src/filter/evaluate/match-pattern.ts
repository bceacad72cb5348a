/** A character that must be there, any character, or any text. */
type Part = string | typeof anyCharacter | typeof anyText;
const anyCharacter = 1;
const anyText = 2;

/**
 * Compiles a pattern: whether a text has it somewhere, case not counting. `*` is any text, `?` any character, `^` in front and `$` behind are
 * the ends of the text, `\` takes the special meaning from the next character. It takes at most the length of the text times that of the
 * pattern steps: at a mismatch only the last `*` is tried again.
 */
export function compilePattern(pattern: string): (text: string) => boolean {
  const { parts, isPlain } = readPattern(pattern);
  if (isPlain) {
    const wanted = parts.slice(1, -1).join("");
    return (text) => foldCase(text).includes(wanted);
  }
  return (text) => matches(Array.from(foldCase(text)), parts);
}

function foldCase(text: string): string {
  return text.toLowerCase();
}

function readPattern(pattern: string): { readonly parts: readonly Part[]; readonly isPlain: boolean } {
  const characters = Array.from(pattern);
  const isFromStart = characters[0] === "^";
  const parts: Part[] = isFromStart ? [] : [anyText];
  let isToEnd = false;
  for (let i = isFromStart ? 1 : 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "*") parts.push(anyText);
    else if (character === "?") parts.push(anyCharacter);
    else if (character === "$" && i === characters.length - 1) isToEnd = true;
    // One character may become two in lower case.
    else
      parts.push(
        ...foldCase(character === "\\" && i + 1 < characters.length ? (characters[++i] as string) : character),
      );
  }
  if (!isToEnd) parts.push(anyText);
  const isPlain = !isFromStart && !isToEnd && parts.slice(1, -1).every((part) => typeof part === "string");
  return { parts, isPlain };
}

/** Whether the whole of a text is what the parts say. */
function matches(text: readonly string[], parts: readonly Part[]): boolean {
  let at = 0;
  let part = 0;
  /** Where to go on after a mismatch: behind the last `*`, which then takes one character more. */
  let retryPart = -1;
  let retryAt = 0;
  while (at < text.length) {
    const wanted = parts[part];
    if (wanted === anyText) {
      retryPart = ++part;
      retryAt = at;
    } else if (wanted === anyCharacter || (wanted !== undefined && wanted === text[at])) {
      at++;
      part++;
    } else if (retryPart >= 0) {
      part = retryPart;
      at = ++retryAt;
    } else return false;
  }
  while (parts[part] === anyText) part++;
  return part === parts.length;
}
