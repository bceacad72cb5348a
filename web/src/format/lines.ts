/** Cuts a stream of text into whole lines; what is left of the last waits for the rest. */
export function createLineSplitter(): (piece: string) => readonly string[] {
  let rest = "";
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    return lines.filter((line) => line !== "");
  };
}
