/** Parameter spellings of other products → the spelling to use here, for the message of a 400. */

import { namedField } from '../../../engine/plan/names.ts'
import type { FieldType } from '../../../model/fields/field-type.ts'
import type { FilterOperator } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { type CollectionView, viewOf } from './collection-view.ts'
import { parseGrouping, writeFilterName } from './filter-name.ts'

/** The spellings of each operator, in lower case, without `$`, `_` and `-`. */
const operatorSpellings: Readonly<Record<FilterOperator, string>> = {
  eq: 'eq equals equal is exact',
  ne: 'ne neq noteq notequals not isnot',
  gt: 'gt after greaterthan',
  gte: 'gte ge from min since',
  lt: 'lt before lessthan',
  lte: 'lte le to max until',
  in: 'in any anyof oneof',
  contains: 'contains like includes cont',
  icontains: 'icontains ilike containsi icont',
  starts_with: 'startswith starts prefix beginswith',
  null: 'null isnull',
}

const operators = new Map(
  Object.entries(operatorSpellings).flatMap(([operator, spellings]) =>
    spellings.split(' ').map(spelling => [spelling, operator as FilterOperator] as const),
  ),
)

/** The operator of this type that has the spelling in another product; undefined if there is none. */
export function suggestOperator(spelling: string, type: FieldType): FilterOperator | undefined {
  const operator = operators.get(spelling.toLowerCase().replaceAll(/[$_-]/g, ''))
  return operator !== undefined && type.operators.includes(operator) ? operator : undefined
}

/** The spellings of parameters that are not filters. */
const parameterSpellings: readonly (readonly [pattern: RegExp, write: string])[] = [
  [
    /^(?:limit|\$?top|take|first|size|page_?size|page\[(?:size|limit)\]|max_?results)$/i,
    '`per_page=…`, at most 100',
  ],
  [/^(?:\$?skip|offset|start|page_?(?:number|no)|page\[(?:number|offset)\])$/i, '`page=…`, from 1 on'],
  [
    /^(?:after|starting_after|page_?token|next_?cursor|page\[(?:after|cursor)\])$/i,
    '`cursor=…`, and the first time `cursor=`',
  ],
  [/^(?:\$?order_?by|order|ordering|sort_?by|sort\[.*\])$/i, '`sort=-created_at` or another field'],
  [/^(?:\$?select|columns|only|fields\[.*\])$/i, '`fields=…`, names separated by commas'],
  [
    /^(?:\$?expand|populate|embed|with|relations|(?:expand|include|populate)\[.*\])$/i,
    '`include=…`, relations separated by commas',
  ],
  [
    /^(?:\$?or|\$?any)(?:\[.*)?$/i,
    '`or[1][field]=…&or[2][field]=…`, in which parameters of one number belong together',
  ],
  [/^(?:\$?not)(?:\[.*)?$/i, '`not[field]=…` or `not[field][operator]=…`'],
  [/^(?:\$?and)(?:\[.*)?$/i, 'the conditions one after another: all must hold'],
]

const searchSpelling = /^(?:\$?search|query|s|keywords?)$/i

/** Wrappers that other products put around the names of fields. */
const wrappers: ReadonlySet<string> = new Set(['filter', 'filters', 'where', 'query', 'search', 'conditions'])

/** The spelling to use instead; undefined if the name is not a known spelling of anything that exists for these callers. */
export function suggestParameter(view: CollectionView, name: string): string | undefined {
  const filter = suggestFilter(view, name)
  if (filter !== undefined) return `\`${filter}=…\``
  if (searchSpelling.test(name)) return view.searched.length > 0 ? '`q=…`' : undefined
  return parameterSpellings.find(([pattern]) => pattern.test(name))?.[1]
}

/** E.g. `author.name[contains]` for `filter[author][name][$like]`, `author__name__like` and `author.name:like`. */
function suggestFilter(view: CollectionView, name: string): string | undefined {
  const tokens = name.split(/__|[[\].:]+/).filter(token => token !== '')
  const [first = ''] = tokens
  if (tokens.length > maxTokens) return undefined
  const parts = wrappers.has(first.toLowerCase()) ? tokens.slice(1) : tokens
  return fieldNamed(view, parts) ? plainFilterName(parts, 'eq') : suggestByLastToken(view, parts)
}

const maxTokens = 8

/** The operator is the last token, or the end of it: `created_at_gte`. */
function suggestByLastToken(view: CollectionView, parts: readonly string[]): string | undefined {
  const last = parts.at(-1) ?? ''
  const cut = last.lastIndexOf('_')
  const candidates = [
    { path: parts.slice(0, -1), operator: last },
    { path: [...parts.slice(0, -1), last.slice(0, cut)], operator: last.slice(cut + 1) },
  ]
  for (const { path, operator } of candidates) {
    const field = fieldNamed(view, path)
    const suggestion = field && suggestOperator(operator, field.type)
    if (suggestion !== undefined) return plainFilterName(path, suggestion)
  }
  return undefined
}

function plainFilterName(path: readonly string[], operator: string): string {
  return writeFilterName({ alternative: undefined, isNegated: false, field: path.join('.'), operator })
}

/** The field at the end of the path, if it exists for these callers and can be filtered. */
function fieldNamed(start: CollectionView, path: readonly string[]): Field | undefined {
  const end = path.slice(0, -1).reduce<CollectionView | undefined>((view, name) => {
    const relation = view?.relations.get(name)
    return view && relation && viewOf(view, relation)
  }, start)
  const field = end && namedField(end, path.at(-1) ?? '')
  return field && field.type.operators.length > 0 ? field : undefined
}

/** The operator in values such as PostgREST's `eq.1`. */
const operatorBefore = /^(?:not\.)?([a-z]{2,12})[.:]./i

/** A hint for the error message about a value that does not fit its field: what the client probably meant. */
export function valueHint(name: string, value: string, { type }: Field): string {
  const parsed = parseGrouping(name)
  if (parsed === undefined) return ''
  const write = (operator: string, operand: string) =>
    ` Write \`${writeFilterName({ ...parsed, operator })}=${operand}\``
  if (/^null$/i.test(value)) {
    const isWithout = parsed.operator !== 'ne'
    return `${write('null', String(isWithout))} for items ${isWithout ? 'without' : 'with'} a value.`
  }
  const operator = suggestOperator(operatorBefore.exec(value)?.[1] ?? '', type)
  if (operator !== undefined) return `${write(operator, '…')}.`
  if (value.includes(',') && parsed.operator === 'eq' && value.split(',').every(part => fits(part, type))) {
    return `${write('in', '…')} for one of several values.`
  }
  return ''
}

function fits(text: string, { fromText, operators: taken }: FieldType): boolean {
  return taken.includes('in') && fromText(text) !== undefined
}
