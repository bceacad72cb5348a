import { useEffect, useState } from "preact/hooks";

/** As the system has it, or as the person chose. */
export type ThemeChoice = "system" | "light" | "dark";

const key = "netgloss.theme";
const listeners = new Set<() => void>();
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function readChoice(): ThemeChoice {
  const kept = localStorage.getItem(key);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Puts the choice to use; before the first drawing, so that nothing flashes. */
export function applyTheme(choice: ThemeChoice = readChoice()): void {
  const theme = choice === "system" ? (prefersDark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(choice: ThemeChoice): void {
  if (choice === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, choice);
  applyTheme(choice);
  for (const listener of listeners) listener();
}

/** What is chosen, and what is in force: charts are drawn again when it changes. */
export function useTheme(): { readonly choice: ThemeChoice; readonly theme: "light" | "dark" } {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = (): void => {
      applyTheme();
      redraw((count) => count + 1);
    };
    listeners.add(listener);
    prefersDark.addEventListener("change", listener);
    return () => {
      listeners.delete(listener);
      prefersDark.removeEventListener("change", listener);
    };
  }, []);
  return {
    choice: readChoice(),
    theme: document.documentElement.dataset["theme"] === "dark" ? "dark" : "light",
  };
}
