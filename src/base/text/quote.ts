const shownLength = 128;

/** A text from outside in a form fit for messages: quoted, control characters and invisible ones escaped, cut at 128 characters. */
export function quote(text: string): string {
  const points = Array.from(text.slice(0, 2 * shownLength + 2));
  const shown = points.length > shownLength ? `${points.slice(0, shownLength).join("")}…` : text;
  // JSON leaves these as they are; U+009B alone begins a terminal's control sequence, U+2028 breaks lines, U+202E turns them round.
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
