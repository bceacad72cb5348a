/** What people read of an autonomous system: its organisation and its number, or the number alone. */
export function asLabel(number: number, organisation?: string): string {
  return organisation === undefined ? `AS${number}` : `${organisation} (${number})`;
}
