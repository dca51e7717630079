/** Ids in paths. */
const ZERO = 48
const NINE = 57
/** The number of digits of 2^53−1. */
const maxDigits = 16

/** The id in `text` between `from` and `to`, without sign or leading zero; 0 if there is none up to 2^53−1. */
export function parseId(text: string, from: number, to: number): number {
  if (to <= from || to - from > maxDigits || text.charCodeAt(from) === ZERO) return 0
  let id = 0
  for (let index = from; index < to; index += 1) {
    const digit = text.charCodeAt(index)
    if (digit < ZERO || digit > NINE) return 0
    id = id * 10 + (digit - ZERO)
  }
  return id <= Number.MAX_SAFE_INTEGER ? id : 0
}
