import { checkExpression } from "./check/check-expression.ts";
import type { Filter } from "./filter.ts";
import { parseExpression } from "./syntax/parse-expression.ts";
import type { Vocabulary } from "./vocabulary.ts";

/**
 * Reads a filter. `docs/filters.md` has the grammar.
 *
 * @param source the name of the text in errors: a setting, a file, a field of a request.
 * @throws FilterError, whose message has the position, the line and a caret.
 */
export function parseFilter(text: string, source: string, vocabulary: Vocabulary): Filter {
  return checkExpression(parseExpression(text, source), text, source, vocabulary);
}
