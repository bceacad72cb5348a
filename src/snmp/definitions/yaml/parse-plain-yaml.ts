import { PlainLines } from "./plain-lines.ts";
import type { YamlMap, YamlNode } from "./yaml-node.ts";

/**
 * Reads the plain subset of YAML that definition files are written in, several times faster than the library does: block
 * mappings and sequences, plain and simply quoted scalars on one line, comments. It gives up at the first thing that it
 * does not know for certain to mean the same to the library, errors included.
 *
 * @returns undefined when the text is not all of that subset; an empty text for a file without a document.
 */
export function parsePlainYaml(text: string): YamlNode | undefined {
  const lines = new PlainLines(text);
  if (!lines.next()) return lines.isPlain ? "" : undefined;
  if (lines.indent !== 0) return undefined;
  const root = parseBlock(lines, 0);
  return lines.isPlain && lines.atEnd ? root : undefined;
}

/** ASCII text that starts no YAML construct, ends in no blank, and has no `: ` or ` #` in it; digits may be negative. */
const plainScalar = /^(?:[A-Za-z0-9_./]|-\d)(?:[!-9;-~]| (?!#)|:(?=[!-~]))*$/;
const quotedScalar = /^(?:'[ -&(-~]*'|"[ !#-[\]-~]*")$/;
/** A key and what follows its colon. */
const mappingEntry = /^([A-Za-z0-9_./](?:[!-9;-~]|:(?=[!-~])| (?![#:\s]))*|'[ -&(-~]*'|"[ !#-[\]-~]*"):(?: +(.*))?$/;

const maxDepth = 50;

function parseBlock(lines: PlainLines, depth: number): YamlNode | undefined {
  if (depth > maxDepth) return lines.giveUp();
  return lines.isSequenceItem ? parseSequence(lines, depth) : parseMapping(lines, depth);
}

function parseMapping(lines: PlainLines, depth: number): YamlMap | undefined {
  const map: YamlMap = new Map();
  const { indent } = lines;
  do {
    const match = mappingEntry.exec(lines.content);
    if (match === null || lines.isSequenceItem) return lines.giveUp();
    const key = unquote(match[1] as string);
    // The library reports a key that is there twice, and merges `<<`.
    if (map.has(key) || key === "<<") return lines.giveUp();
    const value = parseValue(lines, match[2] ?? "", indent, depth);
    if (value === undefined) return undefined;
    map.set(key, value);
  } while (!lines.atEnd && lines.indent === indent);
  // A line further in than its neighbours, after all that could hold it, is an error.
  return lines.atEnd || lines.indent < indent ? map : lines.giveUp();
}

function parseSequence(lines: PlainLines, depth: number): YamlNode[] | undefined {
  const items: YamlNode[] = [];
  const { indent } = lines;
  do {
    if (!lines.isSequenceItem) break;
    const rest = lines.content.slice(1);
    const content = rest.trimStart();
    if (content === "") return lines.giveUp();
    if (mappingEntry.test(content)) {
      // The mapping starts where its first key stands.
      lines.enter(indent + 1 + rest.length - content.length, content);
      const map = parseBlock(lines, depth + 1);
      if (map === undefined) return undefined;
      items.push(map);
    } else {
      const scalar = parseScalar(content);
      if (scalar === undefined) return lines.giveUp();
      items.push(scalar);
      lines.next();
      if (!lines.isPlain) return undefined;
      if (!lines.atEnd && lines.indent > indent) return lines.giveUp();
    }
  } while (!lines.atEnd && lines.indent === indent);
  return lines.atEnd || lines.indent <= indent ? items : lines.giveUp();
}

/** What stands after a key: a scalar on its line, or a block on the next ones. */
function parseValue(lines: PlainLines, text: string, indent: number, depth: number): YamlNode | undefined {
  if (text !== "") {
    const scalar = parseScalar(text);
    if (scalar === undefined) return lines.giveUp();
    lines.next();
    if (!lines.isPlain) return undefined;
    // A line further in would continue the scalar.
    return lines.atEnd || lines.indent <= indent ? scalar : lines.giveUp();
  }
  lines.next();
  if (!lines.isPlain) return undefined;
  if (lines.atEnd || lines.indent < indent) return "";
  // The items of a sequence may stand as far out as the key that it belongs to.
  if (lines.indent === indent) return lines.isSequenceItem ? parseBlock(lines, depth + 1) : "";
  return parseBlock(lines, depth + 1);
}

function parseScalar(text: string): string | undefined {
  if (plainScalar.test(text)) return text;
  return quotedScalar.test(text) ? text.slice(1, -1) : undefined;
}

function unquote(key: string): string {
  return key.startsWith("'") || key.startsWith('"') ? key.slice(1, -1) : key;
}
