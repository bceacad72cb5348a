// Numbers the memory of the kernel, for scripts/generate-kernel.js.

/**
 * Makes a module of constants of a table like `src/flow/kernel/layout.tsv`, which says how. The module has nothing that AssemblyScript does not
 * know. Bytes are a number, the name of a row above, or a sum of products of these; left out, they are 1.
 *
 * @throws RangeError when a name is not known, or there twice.
 */
export function layoutModule(text) {
  const numbers = new Map();
  /** Where each part ends. */
  const ends = new Map();

  const valueOf = (word) => {
    if (/^-?\d/.test(word)) return BigInt(word);
    if (!numbers.has(word)) throw new RangeError(`no row above is called ${word}`);
    return numbers.get(word);
  };
  const evaluate = (sum) =>
    sum
      .split(" + ")
      .map((product) => product.split(" * ").reduce((value, word) => value * valueOf(word), 1n))
      .reduce((value, term) => value + term);
  const take = (part, size, alignment) => {
    const at = roundUp(ends.get(part) ?? 0n, alignment);
    ends.set(part, at + size);
    return at;
  };

  const lines = [];
  const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  for (const row of rows.slice(1)) {
    const [part, name = "", bytes = "", alignment = "", comment = ""] = row.split("\t");
    const size = evaluate(bytes || "1");
    const number =
      part === "value" ? size : take(part, size, alignment === "" ? naturalAlignment(size) : BigInt(alignment));
    if (name === "") continue;
    if (numbers.has(name)) throw new RangeError(`two rows are called ${name}`);
    numbers.set(name, number);
    if (comment !== "") lines.push(`/** ${comment} */`);
    lines.push(`export const ${name} = ${number};`);
  }
  return `${lines.join("\n")}\n`;
}

/** The largest power of two up to 8 that divides a number of bytes. */
function naturalAlignment(bytes) {
  return [8n, 4n, 2n].find((power) => bytes % power === 0n) ?? 1n;
}

function roundUp(number, unit) {
  return ((number + unit - 1n) / unit) * unit;
}
