/** Characters of a name that a table shows at most. */
const longest = 36;

/** A long name with its begin and its end, which tell names apart; the whole belongs into a title. */
export function shortened(text: string, most = longest): string {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const end = Math.floor((most - 1) / 3);
  return `${characters.slice(0, most - 1 - end).join("")}…${characters.slice(-end).join("")}`;
}
