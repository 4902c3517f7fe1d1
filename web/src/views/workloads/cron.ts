// When a schedule is due next: five fields, as CronJobs write them. Minutes are tried one after the other, and days that
// cannot be are left out whole.

interface Parsed {
  minutes: Set<number>;
  hours: Set<number>;
  days: Set<number>;
  months: Set<number>;
  weekdays: Set<number>;
  anyDay: boolean;
  anyWeekday: boolean;
}

const MACROS: Record<string, string> = {
  "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
};
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function field(text: string, from: number, to: number, names: string[] = [], base = 0): Set<number> | null {
  const out = new Set<number>();
  const number = (word: string) => {
    const named = names.indexOf(word.toLowerCase());
    return named >= 0 ? named + base : /^\d+$/.test(word) ? Number(word) : NaN;
  };
  for (const part of text.split(",")) {
    const [range = "", step = "1", more] = part.split("/");
    if (more !== undefined || !/^[1-9]\d*$/.test(step)) return null;
    let [first, last] = [from, to];
    if (range !== "*" && range !== "?") {
      const [a = "", b] = range.split("-");
      first = number(a);
      last = b !== undefined ? number(b) : part.includes("/") ? to : first;
    }
    if (!(first >= from && last <= to && first <= last)) return null;
    for (let n = first; n <= last; n += Number(step)) out.add(n);
  }
  return out;
}

export function parse(schedule: string): Parsed | null {
  const fields = (MACROS[schedule.trim()] ?? schedule.trim()).split(/\s+/);
  if (fields.length !== 5) return null;
  const [m, h, d, mo, w] = fields as [string, string, string, string, string];
  const minutes = field(m, 0, 59);
  const hours = field(h, 0, 23);
  const days = field(d, 1, 31);
  const months = field(mo, 1, 12, MONTHS, 1);
  const weekdays = field(w, 0, 7, DAYS);
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  if (weekdays.has(7)) weekdays.add(0);
  return { minutes, hours, days, months, weekdays, anyDay: /^[*?]/.test(d), anyWeekday: /^[*?]/.test(w) };
}

/** The next times, in a time zone; UTC unless one is named. */
export function next(schedule: string, zone: string, after: number, howMany: number): number[] {
  const parsed = parse(schedule);
  if (!parsed) return [];
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone || "UTC", hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", weekday: "short",
    });
  } catch {
    return [];
  }
  const out: number[] = [];
  let at = Math.floor(after / 60_000) * 60_000 + 60_000;
  const plain = !zone || zone === "UTC" || zone === "Etc/UTC";
  for (let tries = 0; tries < 4000 && out.length < howMany; tries++) {
    const wall = plain ? utc(at) : local(format, at);
    const day = parsed.days.has(wall.day);
    const weekday = parsed.weekdays.has(wall.weekday);
    const fits = parsed.anyDay || parsed.anyWeekday ? day && weekday : day || weekday;
    if (!parsed.months.has(wall.month) || !fits) {
      // The next midnight, or shortly before where clocks are changed.
      at += Math.max(1, 24 * 60 - (wall.hour * 60 + wall.minute) - (plain ? 0 : 61)) * 60_000;
    } else if (!parsed.hours.has(wall.hour)) at += (60 - wall.minute) * 60_000;
    else if (!parsed.minutes.has(wall.minute)) at += 60_000;
    else {
      out.push(at);
      at += 60_000;
    }
  }
  return out;
}

function utc(at: number) {
  const d = new Date(at);
  return { month: d.getUTCMonth() + 1, day: d.getUTCDate(), weekday: d.getUTCDay(), hour: d.getUTCHours(), minute: d.getUTCMinutes() };
}

function local(format: Intl.DateTimeFormat, at: number) {
  const parts = Object.fromEntries(format.formatToParts(at).map((p) => [p.type, p.value]));
  return {
    month: Number(parts.month), day: Number(parts.day), hour: Number(parts.hour), minute: Number(parts.minute),
    weekday: DAYS.indexOf((parts.weekday ?? "").toLowerCase()),
  };
}

/** The times of a schedule that passed since then and for which no run is known. */
export function missed(schedule: string, zone: string, since: number, now: number, runs: number[]): number[] {
  const due = next(schedule, zone, since, 60).filter((at) => at < now - 60_000);
  return due.filter((at) => !runs.some((run) => Math.abs(run - at) < 30_000));
}
