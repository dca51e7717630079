/** Suggests the most similar name, by edit distance. */

const maxWordLength = 64

function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** The most similar candidate, if it is similar enough for `word` to be a misspelling. */
export function suggest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > maxWordLength) return undefined
  let best: string | undefined
  let limit = Math.ceil(word.length / 3) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= limit) continue
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    if (edits < limit) {
      best = candidate
      limit = edits
    }
  }
  return best
}

/** ` Did you mean \`title\`?`, or an empty string. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const suggestion = suggest(word, candidates)
  return suggestion === undefined ? '' : ` Did you mean \`${suggestion}\`?`
}
