import { ExchangeError } from "../exchange-error.ts";
import type { FaultList } from "../fault-list.ts";
import { isObject, parseJson } from "./json-rows.ts";
import { rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

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
  for await (const line of linesOf(text)) {
    number++;
    if (line.trim() === "") continue;
    const values = readLine(line, number, faults, unit);
    if (values !== undefined) block.push({ number, line: unit === "line" ? number : 0, header: undefined, values });
    if (block.length < rowsOfABlock) continue;
    yield block;
    block = [];
  }
  yield block;
}

function readLine(line: string, number: number, faults: FaultList, unit: "line" | "row"): unknown {
  const fault = (reason: string): undefined => {
    faults.add({ row: number, line: unit === "line" ? number : 0, column: "", field: "", reason });
    return undefined;
  };
  try {
    const values = parseJson(line);
    return isObject(values) ? values : fault(`the ${unit} is not an object`);
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    return fault(error.message.replace("the text is not JSON: ", "the line is not JSON: ").replace("line 1, ", ""));
  }
}

async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const piece of text) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
