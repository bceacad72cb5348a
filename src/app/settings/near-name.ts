const maxEdits = 2;

/** The name among `names` that is at most two edits (insert, delete, replace a character) away, the nearest first. */
export function nearName(text: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = maxEdits + 1;
  for (const name of names) {
    if (Math.abs(name.length - text.length) >= bestEdits) continue;
    const edits = countEdits(text, name);
    if (edits < bestEdits) [best, bestEdits] = [name, edits];
  }
  return best;
}

/** Levenshtein distance, one row at a time. */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
