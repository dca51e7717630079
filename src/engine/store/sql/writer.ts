/**
 * SQL as text with symbolic parameters. Only `name`, `textLiteral` and template texts become SQL; a value
 * from outside can only be a `Bind`.
 */
import { type Encoding, literal, type StoredValue } from '../../../model/fields/encoding.ts'
import { wholeEncoding } from '../../../model/fields/integer.ts'
import type { JsonValue } from '../../../model/fields/type.ts'

/** Converts a JSON value into a parameter: a field's encoding, or the dialect's conversion of lists and search terms. */
export interface Conversion {
  /** Binds of one value whose conversions share a name share a placeholder. */
  readonly name: string
  encode(value: JsonValue): StoredValue
}

export type Bind =
  | { readonly from: 'arg'; readonly param: number; readonly as: Conversion }
  | { readonly from: 'constant'; readonly value: JsonValue; readonly as: Conversion }
  | { readonly from: 'userId' }
  /** The time of the request, shifted; null: the database's clock applies. */
  | { readonly from: 'now'; readonly shiftMs: number; readonly as: Encoding }
  /** A claim of the caller's token; null if it is missing or of another type. */
  | { readonly from: 'claim'; readonly claim: string; readonly as: Encoding }
  /** The id of the caller's app; null without one. */
  | { readonly from: 'appId' }
  /** The total of the list; null if it is unknown. */
  | { readonly from: 'total' }
  /** The maximum size of the answer, in bytes; null: any size. */
  | { readonly from: 'answerBytes' }
  /** A converted value that the store itself supplies. */
  | { readonly from: 'slot'; readonly slot: number }

export type Sql = readonly (string | Bind)[]

/** A value as part of an expression. */
export type Operand = Bind | Sql

/** Joins texts, fragments and binds. Strings cannot be interpolated: see `name` and `quoted`. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Operand[]): Sql {
  const fragment: (string | Bind)[] = [texts[0] ?? '']
  parts.forEach((part, index) => {
    if (isSql(part)) fragment.push(...part)
    else fragment.push(part)
    fragment.push(texts[index + 1] ?? '')
  })
  return fragment
}

function isSql(part: Operand): part is Sql {
  return Array.isArray(part)
}

/** A quoted identifier. */
export function name(identifier: string): Sql {
  return [`"${identifier.replaceAll('"', '""')}"`]
}

/** The prefix of a column: the alias and a dot, or nothing. */
export function aliasPrefix(alias: Sql | undefined): Sql {
  return alias === undefined ? [] : [...alias, '.']
}

/** A string literal, for names that the model declares. */
export function textLiteral(text: string): Sql {
  return [literal(text)]
}

export function join(parts: readonly Sql[], separator: string): Sql {
  return parts.flatMap((part, index) => (index === 0 ? part : [separator, ...part]))
}

export const empty: Sql = []

/** Applies `write`, which takes and returns SQL text, to fragments. */
export function applyToFragments(write: (...texts: string[]) => string, ...parts: readonly Sql[]): Sql {
  // Private use characters: no text of SQL has them.
  const placeholders = parts.map((_, index) => String.fromCharCode(firstPlaceholder + index))
  const texts = write(...placeholders).split(/([\uE000-\uE00F])/)
  return texts.flatMap(text => parts[placeholders.indexOf(text)] ?? [text])
}

const firstPlaceholder = 0xe000

/** By default, a whole number: an id, a limit or an offset. */
export function arg(param: number, as: Conversion = wholeEncoding): Bind {
  return { from: 'arg', param, as }
}

export function slot(index: number): Bind {
  return { from: 'slot', slot: index }
}

export const userId: Bind = { from: 'userId' }
export const answerBytes: Bind = { from: 'answerBytes' }

export interface SqlText {
  readonly text: string
  /** In the order of the placeholders' numbers; equal binds share one. */
  readonly binds: readonly Bind[]
}

/** The text for a database whose numbered placeholders begin with `sign`: `?` or `$`. */
export function compile(fragment: Sql, sign: '?' | '$'): SqlText {
  const binds: Bind[] = []
  const numbers = new Map<string, number>()
  const number = (bind: Bind): number => {
    const key = JSON.stringify(bind, (name, value) => (name === 'as' ? value.name : value))
    const existing = numbers.get(key)
    if (existing !== undefined) return existing
    numbers.set(key, binds.push(bind))
    return binds.length
  }
  const text = fragment.map(part => (typeof part === 'string' ? part : `${sign}${number(part)}`)).join('')
  return { text, binds }
}
