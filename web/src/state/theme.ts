// Dark or light: as the system has it, until somebody says otherwise.

export type Theme = "dark" | "light";

const dark = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const said = localStorage.getItem("theme");
  if (said === "dark" || said === "light") return said;
  return dark.matches ? "dark" : "light";
}

export function apply() {
  document.documentElement.dataset.theme = theme();
  dispatchEvent(new Event("theme"));
}

export function toggle() {
  localStorage.setItem("theme", theme() === "dark" ? "light" : "dark");
  apply();
}

dark.addEventListener("change", apply);

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A colour of the present theme, for canvases. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
