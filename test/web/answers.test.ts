import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { answerTypes } from "../../scripts/answer-types.ts";

test("the types of the pages are those of the table of methods", () => {
  const file = readFileSync(join(import.meta.dirname, "../../../web/src/api/answers.gen.ts"), "utf8");
  assert.equal(bare(file), bare(answerTypes()));
});

/** The text without comments, blanks, and what a formatter adds or leaves out: parentheses, a bar before the first of several texts. */
function bare(text: string): string {
  return text
    .replace(/\/\/.*|\/\*.*?\*\//g, "")
    .replace(/[\s()]/g, "")
    .replace(/([:=<])\|/g, "$1")
    .replaceAll(";}", "}");
}
