import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import { udmFields, type UdmValues, type UdmWrite } from "../../src/metadata/index.ts";
import { denseKeyText } from "./udm-entry.ts";
import { anyCharacter } from "./any-character.ts";

/** Texts that some reader of YAML takes for something else, or trips over. */
export const trickyTexts: readonly string[] = [
  ["", " ", "~", "null", "Null", "yes", "No", "on", "OFF", "y", "N", "true", "False", "=", "<<", "-", "?", ":"],
  ["01", "1.10", "1e3", "0x1F", "0o17", "0b1", "1_000", "+1", "-0", "1:20", "190:20:30", "1:2:3:4:5:6:7:8"],
  [".5", "5.", ".inf", "-.INF", ".NaN", ".e5", ".e+5", "1.e+1", "2001-12-14", "2001-12-14t21:59:43.10-05:00"],
  ["a: b", "a:", ":a", "a #b", "#a", "a#b", "- a", "-a", "--- a", "---", "...", "? a", "[a]", "{a}", "a, b", "*a"],
  ["&a", "!a", "|", ">", "@a", "`a", "%a", "'a'", '"a"', "it's", 'say "x"', "a\\b", "\\", " a", "a ", "a  b"],
  ["a\nb", "a\r\nb", "a\tb", "\t", "\n", "a\u0085b", "a\u2028b", "a\u2029b", "\u00a0", "a\u200bb", "\ufeff", "\ufffe"],
  ["\u0000", "\u0007", "\u007f", "\u009f", "Zürich", "日本", "😀", "a😀", "👩‍👩‍👧", "\u{e0001}", "\u{1fffe}", "__proto__"],
  ["constructor", "site.id", ".site.id", "..a", "a..b", "x".repeat(300), "long key ".repeat(150)],
].flat();

/** Keys that some reader takes for a number, or whose colons it trips over. */
export const trickyKeys: readonly string[] = [
  ["::", "::1", "1:2:3:4:5:6:7:8", "2001:db8::", "::/0", "::-::1", "1::", "::ffff:192.0.2.1", "fe80::/10"],
  ["0.0.0.0", "1.2.3.4", "0.0.0.0/0", "10.0.0.0-10.0.0.9", "1:2:3::", "0:0:1::", "12:30:45::"],
].flat();

/** Any text, the tricky ones often. */
const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...trickyTexts),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...Array.from(" \n\t:#-?,[]{}&*!|>'\"%@`~=.0x1eyn\\")), maxLength: 8 }),
);

/** Values of any kind: the store takes them as they are, the rules for them are its callers' concern. */
export const anyValues: fc.Arbitrary<UdmValues> = fc.record({
  name: anyText,
  tags: fc.array(anyText, { maxLength: 3 }),
  vlan: fc.oneof(fc.constantFrom(0n, 1n, 2n ** 53n + 1n, 2n ** 64n - 1n), fc.bigInt(0n, 4094n)),
  internal: fc.boolean(),
  metadata: fc.array(fc.tuple(anyText, anyText), { maxLength: 3 }).map((pairs) => new Map(pairs)),
});

/** A write to one of few keys, so that writes meet. */
export const anyWrite: fc.Arbitrary<UdmWrite> = fc
  .record({
    op: fc.constantFrom("create", "create", "update", "delete"),
    key: denseKeyText.map((text) => parseKey(text)),
    values: anyValues,
    fields: fc.option(fc.subarray([...udmFields]), { nil: undefined }),
  })
  .map(({ op, key, values, fields }): UdmWrite => {
    if (op === "create") return { op: "create", key, values };
    if (op === "delete") return { op: "delete", key };
    return fields === undefined ? { op: "update", key, values } : { op: "update", key, values, fields };
  });
