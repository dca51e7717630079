/** Content negotiation (RFC 9110, 12.5.1): every answer is JSON; errors can also be problem details (RFC 9457). */
import { ApiError } from '../errors.ts'
import { Memo } from './memo.ts'

export interface Accepted {
  /** Whether `application/json` can be given. */
  readonly json: boolean
  /** Whether errors are wanted as `application/problem+json`. */
  readonly problem: boolean
}

interface Range {
  readonly type: string
  readonly quality: number
}

const everything: Accepted = { json: true, problem: false }
const memo = new Memo<string, Accepted>(100)
const LONGEST = 1000

function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
  const quality =
    weight === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
  return { type, quality }
}

/** The weight of the most precise range that covers `application/{subtype}`; undefined: none does. */
function weigh(ranges: readonly Range[], subtype: string): number | undefined {
  for (const type of [`application/${subtype}`, 'application/*', '*/*']) {
    const range = ranges.find(candidate => candidate.type === type)
    if (range) return range.quality
  }
  return undefined
}

function parseAccept(header: string): Accepted {
  const ranges = header.split(',').map(parseRange)
  const named = ranges.find(range => range.type === 'application/problem+json')?.quality ?? 0
  const json = weigh(ranges, 'json')
  return {
    // Whoever names only problem details speaks of errors; success is JSON all the same.
    json: json === undefined ? named > 0 : json > 0,
    problem: named > 0 && named >= (ranges.find(range => range.type === 'application/json')?.quality ?? 0),
  }
}

/** What an `Accept` header takes. Without one, everything. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '*/*' || header === 'application/json') return everything
  if (header.trim() === '' || header.length > LONGEST) return everything
  const known = memo.get(header)
  if (known) return known
  const made = parseAccept(header)
  memo.set(header, made)
  return made
}

/** Throws NOT_ACCEPTABLE when JSON is not among what the client takes. */
export function requireJson(header: string | undefined): void {
  if (!readAccept(header).json) {
    throw new ApiError(
      'NOT_ACCEPTABLE',
      'The answer is application/json, which the Accept header leaves out.',
    )
  }
}
