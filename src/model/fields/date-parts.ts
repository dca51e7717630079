/** The parts of dates and times by which aggregates group: what their texts begin with (ISO 8601, reduced precision). */

/** How many characters each part has, e.g. `2026-01` for a month. */
export const datePartLengths = { year: 4, month: 7, day: 10, hour: 13 } as const

export type DatePart = keyof typeof datePartLengths
