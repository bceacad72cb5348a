import type { YamlMapping, YamlNode, YamlPair, YamlScalar } from "./yaml-node.ts";

/**
 * Matches texts that every YAML 1.1 or 1.2 reader takes for this string in any place: a letter or `_` first (or one leading dot before it, as in
 * metadata keys), then letters, digits, single inner blanks and harmless signs.
 */
const safePlain = /^\.?[\p{L}_](?:[\p{L}\p{M}\p{N}_./@()-]| (?=[\p{L}\p{N}_./@()-]))*$/u;

/** Matches texts of that form that some readers take for a bool, null or a float (YAML 1.1 floats: `.inf`, `.e+5`, even `e5`). */
const reserved = /^(?:y|n|yes|no|on|off|true|false|null|\.(?:inf|nan)|(?:\._*)?e-?[0-9]+)$/i;

/** Characters that a YAML reader may refuse or take for a line break, or that are invisible to people. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/u;
const escaped = /["\\]|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/gu;

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** Returns a text as a YAML scalar on one line that reads back as this string: plain where that is safe, else quoted. */
export function stringScalar(text: string): string {
  return safePlain.test(text) && !reserved.test(text) ? text : quotedScalar(text);
}

/** Returns a double-quoted scalar on one line. */
export function quotedScalar(text: string): string {
  return `"${text.replace(escaped, escapeCharacter)}"`;
}

/** Reports whether the text has a character that must be escaped. */
export function hasUnprintable(text: string): boolean {
  return unprintable.test(text);
}

/** Reports whether a text that was read as a plain scalar can be written as one on its own line and reads back unchanged. */
function canStayPlain(text: string): boolean {
  return !unprintable.test(text);
}

function escapeCharacter(character: string): string {
  const short = shortEscapes[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** YAML 1.1 readers refuse a longer key without a `?` mark. */
const longestPlainKey = 1000;

/**
 * Returns a pair as block YAML, each line ended and indented by `indent`. It keeps the meaning: plain scalars stay plain, quoted ones quoted, and tags
 * stay. Aliases are expanded; layout and comments are lost.
 */
export function renderPair(pair: YamlPair, indent: string): string {
  const { key, value } = pair;
  const keyText = key.tag === undefined ? scalarText(key) : `${key.tag} ${scalarText(key)}`;
  return `${indent}${renderKey(keyText, indent)}${renderValue(value, indent)}`;
}

/** Returns a key including its colon; a very long one in the explicit form. */
export function renderKey(keyText: string, indent: string): string {
  return keyText.length > longestPlainKey || keyText === "" ? `? ${keyText}\n${indent}:` : `${keyText}:`;
}

/** Writes the text after a key's colon or an item's dash, including the last line feed. */
function renderValue(node: YamlNode, indent: string): string {
  const tag = node.tag === undefined ? "" : ` ${node.tag}`;
  const inner = `${indent}  `;
  if (node.kind === "scalar") {
    const text = scalarText(node);
    return text === "" ? `${tag}\n` : `${tag} ${text}\n`;
  }
  if (node.kind === "sequence") {
    if (node.items.length === 0) return `${tag} []\n`;
    return `${tag}\n${node.items.map((item) => `${inner}-${renderItem(item, inner)}`).join("")}`;
  }
  return node.pairs.length === 0 ? `${tag} {}\n` : `${tag}\n${renderPairs(node, inner)}`;
}

/** Writes a value like {@link renderValue}, but an untagged mapping starts on the line of the dash. */
function renderItem(node: YamlNode, indent: string): string {
  if (node.kind !== "mapping" || node.tag !== undefined || node.pairs.length === 0) return renderValue(node, indent);
  const inner = `${indent}  `;
  return ` ${renderPairs(node, inner).slice(inner.length)}`;
}

function renderPairs(node: YamlMapping, indent: string): string {
  return node.pairs.map((pair) => renderPair(pair, indent)).join("");
}

function scalarText(node: YamlScalar): string {
  return node.isPlain && canStayPlain(node.text) ? node.text : quotedScalar(node.text);
}
