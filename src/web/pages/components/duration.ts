/** Durations in words. */

const units = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const

/** E.g. `1 day`, `90 minutes`: in the largest unit that expresses it exactly. */
export function duration(seconds: number): string {
  const [length, name] = units.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, 'second']
  const count = seconds / length
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
