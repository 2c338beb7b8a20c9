// Numbers and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);
export const rate = (n) => (n == null ? "–" : tenth.format(n));

export function percent(part, all) {
  if (!all) return "–";
  const share = (100 * part) / all;
  return `${share > 0 && share < 0.1 ? "<0.1" : tenth.format(share)} %`;
}

export function latency(seconds) {
  if (seconds == null) return "–";
  const ms = seconds * 1000;
  if (ms < 1) return "<1 ms";
  return ms < 1000 ? `${whole.format(ms)} ms` : `${tenth.format(seconds)} s`;
}

/** A time of day from seconds since the Unix epoch. */
export const clock = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour12: false });

/** How far away a time is, in words. */
export function from(seconds, now) {
  const left = Math.round(seconds - now);
  if (left <= 0) return "now";
  if (left < 90) return `in ${left} s`;
  const minutes = Math.round(left / 60);
  return minutes < 90 ? `in ${minutes} min` : `in ${tenth.format(left / 3600)} h`;
}

export const at = (seconds, now) => `${clock(seconds)} (${from(seconds, now)})`;
