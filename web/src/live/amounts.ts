// Amounts as the API writes them, and as people read them.

const BINARY: Record<string, number> = {
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};
const DECIMAL: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
};

/** The number that a quantity stands for; 0 for what is none. */
export function quantity(text: unknown): number {
  if (typeof text === "number") return text;
  if (typeof text !== "string") return 0;
  const match = /^([+-]?[0-9.]+)(?:([KMGTPE]i)|(n|u|m|k|M|G|T|P|E)|[eE]([+-]?\d+))?$/.exec(text);
  if (!match) return 0;
  const value = Number(match[1]);
  if (match[2]) return value * BINARY[match[2]]!;
  if (match[4]) return value * 10 ** Number(match[4]);
  return value * DECIMAL[match[3] ?? ""]!;
}

/** Cores, from thousandths. */
export function cores(milli: number): string {
  if (milli === 0) return "0";
  if (milli < 1000 && milli % 1000 !== 0) return `${Math.round(milli)}m`;
  return `${trim(milli / 1000)}`;
}

export function bytes(value: number): string {
  const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at + 1 < units.length) {
    value /= 1024;
    at += 1;
  }
  return `${trim(value)}${units[at]}`;
}

export function trim(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1).replace(/\.?0+$/, "");
}

export function amount(resource: string, value: number): string {
  if (resource === "cpu") return cores(value * 1000);
  if (/memory|storage|hugepages/.test(resource)) return bytes(value);
  return trim(value);
}

/** A span of time in few letters: 45s, 12m, 3h 20m, 5d. */
export function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return m < 10 && s % 60 ? `${m}m ${s % 60}s` : `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 ? `${h}h ${m % 60}m` : `${h}h`;
  const d = Math.floor(h / 24);
  return h % 24 && d < 10 ? `${d}d ${h % 24}h` : `${d}d`;
}

export function millis(ms: number): string {
  if (ms < 1) return `${(ms * 1000).toFixed(0)} µs`;
  if (ms < 1000) return `${trim(ms)} ms`;
  return `${trim(ms / 1000)} s`;
}

export function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}

export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour12: false });
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
