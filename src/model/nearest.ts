/** Suggests the most similar name, by edit distance. */

const maxWordLength = 64

function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const swap = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** The most similar candidate, if it is similar enough for `word` to be a misspelling. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > maxWordLength) return undefined
  let best: string | undefined
  let bound = Math.ceil(word.length / 3) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bound) continue
    const found = distance(word.toLowerCase(), candidate.toLowerCase())
    if (found < bound) {
      best = candidate
      bound = found
    }
  }
  return best
}

/** ` Did you mean \`title\`?`, or an empty string. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates)
  return found === undefined ? '' : ` Did you mean \`${found}\`?`
}
