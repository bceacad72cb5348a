import type { YamlMapping, YamlNode, YamlPair, YamlScalar } from "./yaml-node.ts";
import { canStayPlain, quotedScalar } from "./yaml-scalar.ts";

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

/** What follows a key's colon or an item's dash, up to the last line feed. */
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
