/** The parts of dates and times by which aggregates group. Each is a prefix of the text (ISO 8601, reduced precision). */

/** The length of each prefix in characters, e.g. of `2026-01` for a month. */
export const datePartLengths = { year: 4, month: 7, day: 10, hour: 13 } as const

export type DatePrefix = keyof typeof datePartLengths
