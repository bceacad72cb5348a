import { ExchangeError } from "../exchange-error.ts";
import type { FaultList } from "../fault-list.ts";
import { isObject, nameTwice, parseJson } from "./json-rows.ts";
import { JsonWalker, JsonWalkError } from "./json-walker.ts";
import { rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

/** The objects of a text that has one on each line. A line that cannot be read is a fault of its own; empty ones are skipped. */
export async function* ndjsonRows(text: AsyncIterable<string>, faults: FaultList): RowBlocks {
  let number = 0;
  let block: Row[] = [];
  for await (const line of linesOf(text)) {
    number++;
    if (line.trim() === "") continue;
    const values = readLine(line, number, faults);
    if (values !== undefined) block.push({ number, line: number, header: undefined, values });
    if (block.length < rowsOfABlock) continue;
    yield block;
    block = [];
  }
  yield block;
}

function readLine(line: string, number: number, faults: FaultList): unknown {
  const fault = (reason: string): undefined => {
    faults.add({ row: number, line: number, column: "", field: "", reason });
    return undefined;
  };
  try {
    const values = parseJson(line);
    const { twice } = new JsonWalker(line).value();
    if (twice !== undefined) return fault(nameTwice(twice));
    return isObject(values) ? values : fault("the line is not an object");
  } catch (error) {
    if (error instanceof JsonWalkError) return fault(`the line cannot be read: ${error.message}`);
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
