import type { YamlMapping, YamlNode, YamlPair, YamlScalar } from "./yaml-node.ts";

/**
 * Texts that no reader of YAML 1.1 or 1.2 takes for anything but this string, wherever it stands: a letter or `_` first
 * (or one leading dot before it, as metadata keys have), then letters, digits, single inner blanks and harmless signs.
 */
const safePlain = /^\.?[\p{L}_](?:[\p{L}\p{M}\p{N}_./@()-]| (?=[\p{L}\p{N}_./@()-]))*$/u;

/** Matches text that looks like the above but is a bool, null or a float to some reader (YAML 1.1 floats: `.inf`, `.e+5`, even `e5`). */
const reserved = /^(?:y|n|yes|no|on|off|true|false|null|\.(?:inf|nan)|(?:\._*)?e-?[0-9]+)$/i;

/** Characters that a YAML reader may refuse, take for a line break, or that a person does not see. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/u;
const escaped = /["\\]|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/gu;

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** The text as a YAML scalar on one line that reads back as this string: plain where that is safe, else quoted. */
export function stringScalar(text: string): string {
  return safePlain.test(text) && !reserved.test(text) ? text : quotedScalar(text);
}

/** A double-quoted scalar on one line. */
export function quotedScalar(text: string): string {
  return `"${text.replace(escaped, escapeCharacter)}"`;
}

/** Tells whether the text has a character that is only ever written escaped. */
export function hasUnprintable(text: string): boolean {
  return unprintable.test(text);
}

/** Tells whether a text that was read as a plain scalar may be written as one on a line of its own and reads back the same. */
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

/** Readers of YAML 1.1 refuse a longer key that is not marked by `?`. */
const longestPlainKey = 1000;

/**
 * A pair as block YAML, each line ended, indented by `indent`. It means what was read: plain scalars stay plain, quoted
 * ones quoted, tags stay; aliases are written out, layout and comments are not kept.
 */
export function renderPair(pair: YamlPair, indent: string): string {
  const { key, value } = pair;
  const keyText = key.tag === undefined ? scalarText(key) : `${key.tag} ${scalarText(key)}`;
  return `${indent}${renderKey(keyText, indent)}${renderValue(value, indent)}`;
}

/** A key up to and including its colon; a very long one in the explicit form. */
export function renderKey(keyText: string, indent: string): string {
  return keyText.length > longestPlainKey || keyText === "" ? `? ${keyText}\n${indent}:` : `${keyText}:`;
}

/** Writes what follows a key's colon or an item's dash, up to the last line feed. */
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

/** Like {@link renderValue}, but an untagged mapping starts on the line of the dash. */
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
