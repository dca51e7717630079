/** Durations and sizes, written with their unit: `30 s`, `16 MiB`. */
import type { Kind } from './kinds.ts'

const millisecondsPer = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const

const bytesPer = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const

/** A number and a unit, with or without a space between them. */
type Quantity<Unit extends string> = `${number} ${Unit}` | `${number}${Unit}`

export type Duration = Quantity<keyof typeof millisecondsPer>
export type Size = Quantity<keyof typeof bytesPer>

export interface Range<Q> {
  /** Values are whole multiples of its unit. */
  readonly from: Q
  readonly to: Q
  /** The example in error messages. */
  readonly example: Q
}

/** Parsed to milliseconds. */
export const duration = (range: Range<Duration>): Kind<number, Duration> =>
  quantity('a duration', millisecondsPer, range)

/** Parsed to bytes. */
export const size = (range: Range<Size>): Kind<number, Size> => quantity('a size', bytesPer, range)

type Units = Readonly<Record<string, number>>

interface Parsed {
  /** In the smallest unit. */
  readonly value: number
  readonly unit: string
}

/** Returns undefined for a text of another form. Throws a `RangeError` if the unit is missing or unknown. */
function parseQuantity(text: string, units: Units, example: string): Parsed | undefined {
  const [, digits, unit] = /^(\d{1,15}(?:\.\d{1,3})?) ?([A-Za-z]{0,20})$/.exec(text) ?? []
  if (digits === undefined || unit === undefined) return undefined
  if (unit === '') throw new RangeError(`write a unit, for instance "${example}"`)
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  if (factor !== undefined) return { value: Number(digits) * factor, unit }
  const names = Object.keys(units).join(', ')
  throw new RangeError(`has the unknown unit \`${unit}\`: write one of ${names}, for instance "${example}"`)
}

function quantity<Q extends string>(
  name: string,
  units: Units,
  { from, to, example }: Range<Q>,
): Kind<number, Q> {
  const bound = (text: string): Parsed =>
    parseQuantity(text, units, example) ?? { value: Number.NaN, unit: '' }
  const [min, max] = [bound(from), bound(to)]
  const step = units[min.unit] ?? 1
  const multiples = step > 1 ? `, a whole number of ${min.unit}` : ''
  const parse = (text: string) => {
    const { value = Number.NaN } = parseQuantity(text, units, example) ?? {}
    return value >= min.value && value <= max.value && value % step === 0 ? value : undefined
  }
  return {
    expected: `${name} from \`${from}\` to \`${to}\`${multiples}, for instance \`${example}\``,
    fromText: parse,
    fromValue: value =>
      typeof value === 'string' || typeof value === 'number' ? parse(String(value)) : undefined,
  }
}
