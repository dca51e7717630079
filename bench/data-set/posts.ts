/** The contents of the data sets' posts. Generated from a seed, so that every run measures the same rows. */

const yearMs = 365 * 24 * 3_600_000
const maxEarlyMs = 3 * 24 * 3_600_000
const firstAt = Date.parse('2025-01-01T00:00:00.000Z')

/** Returns a different number in [0, 1) at each call. */
export type Random = () => number

/** A seeded pseudorandom generator (mulberry32). */
export function randomNumbers(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * When post `n` of `rows` was created: the posts are spread over a year in the order of their ids, except for one in fifty,
 * which is up to three days earlier, like an imported post.
 */
export function createdAt(n: number, rows: number, random: Random): string {
  const earlyMs = random() < 0.02 ? Math.floor(random() * maxEarlyMs) : 0
  return new Date(firstAt + Math.floor((n * yearMs) / rows) - earlyMs).toISOString()
}

/** The status of 40 % of the posts; the others have 15 % each. */
export const commonStatus = 'published'
const otherStatuses = ['draft', 'review', 'scheduled', 'archived']

export function statusOf(random: Random): string {
  const number = random()
  if (number < 0.4) return commonStatus
  return otherStatuses[Math.floor((number - 0.4) / 0.15)] ?? 'archived'
}

/** Each occurs in about 30,000 posts, or in 30 % of fewer than 100,000. */
export const commonWords: readonly string[] = Array.from({ length: 20 }, (_, n) => `topic${n}`)
const postsPerCommonWord = 30_000
/** The number of posts in which each rare word occurs. */
export const postsPerRareWord = 10

export const rareWords = (rows: number): number => Math.max(1, Math.floor(rows / postsPerRareWord))

/** The body of a searchable post: one rare word and some common ones. */
export function searchedBody(n: number, rows: number, random: Random): string {
  const share = Math.min(0.3, postsPerCommonWord / rows)
  const common = commonWords.filter(() => random() < share)
  return [`Post with rare${n % rareWords(rows)}`, ...common].join(' ').padEnd(100, ' lorem ipsum')
}
