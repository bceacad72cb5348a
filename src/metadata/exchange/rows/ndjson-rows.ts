import { ExchangeError } from "../exchange-error.ts";
import type { FaultList } from "../fault-list.ts";
import { isObject, nameTwice, parseJson } from "./json-rows.ts";
import { JsonWalker, JsonWalkError } from "./json-walker.ts";
import { charactersOfABlock, longestRow, rowIsTooLong, rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

/**
 * The objects of a text that has one on each line. A line that cannot be read is a fault of its own; empty ones are skipped.
 *
 * @param unit what a line is to the user; only of their own lines the number is said.
 */
export async function* ndjsonRows(
  text: AsyncIterable<string>,
  faults: FaultList,
  unit: "line" | "row" = "line",
): RowBlocks {
  let number = 0;
  let block: Row[] = [];
  let length = 0;
  for await (const line of linesOf(text)) {
    number++;
    if (line.trim() === "") continue;
    const values = readLine(line, number, faults, unit);
    if (values !== undefined) block.push({ number, line: unit === "line" ? number : 0, header: undefined, values });
    length += line.length;
    if (block.length < rowsOfABlock && length < charactersOfABlock) continue;
    yield block;
    block = [];
    length = 0;
  }
  yield block;
}

function readLine(line: string, number: number, faults: FaultList, unit: "line" | "row"): unknown {
  const fault = (reason: string): undefined => {
    faults.add({ row: number, line: unit === "line" ? number : 0, column: "", field: "", reason });
    return undefined;
  };
  if (line.length > longestRow) return fault(rowIsTooLong);
  try {
    const values = parseJson(line);
    const { twice } = new JsonWalker(line).value();
    if (twice !== undefined) return fault(nameTwice(twice));
    return isObject(values) ? values : fault(`the ${unit} is not an object`);
  } catch (error) {
    if (error instanceof JsonWalkError) return fault(`the line cannot be read: ${error.message}`);
    if (!(error instanceof ExchangeError)) throw error;
    return fault(error.message.replace("the text is not JSON: ", "the line is not JSON: ").replace("line 1, ", ""));
  }
}

async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const piece of text) {
    const parts = piece.split("\n");
    for (const [i, part] of parts.entries()) {
      // One that is too long is so without the rest of it.
      if (rest.length <= longestRow) rest += part;
      if (i === parts.length - 1) break;
      yield rest;
      rest = "";
    }
  }
  if (rest !== "") yield rest;
}
