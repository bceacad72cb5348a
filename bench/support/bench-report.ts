/** One measured figure, and what it is to be compared with. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The same done by a peer, or the physical limit, in the same unit and the same run. */
  readonly peer?: { readonly what: string; readonly value: number };
  /** What the project wants to reach, in words. */
  readonly goal?: string;
}

/** Hands a figure to the runner of the benches; prints it when the bench runs alone. */
export function reportRow(row: Row): void {
  if (process.send === undefined) console.log(formatRow(row));
  else process.send({ row });
}

/** One line of the table. */
export function formatRow({ what, value, unit, peer, goal }: Row): string {
  const against =
    peer === undefined ? "" : `${ratioOf(value, peer.value)} × ${peer.what} (${formatNumber(peer.value)})`;
  return `${what.padEnd(58)} ${formatNumber(value).padStart(10)} ${unit.padEnd(10)} ${against}${goal === undefined ? "" : `  goal: ${goal}`}`;
}

export function ratioOf(value: number, peer: number): string {
  return (value / peer).toFixed(2);
}

function formatNumber(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", " ");
  return Number(value.toPrecision(3)).toString();
}
