/** Checks the expressions of computed fields, and finds the type of every part. */

import { isObject } from '../../base/json.ts'
import type { CheckedExpression, CheckedPart, DatePart, Expression } from '../computed/computed.ts'
import { relatedLists, scannedLists } from '../computed/fields.ts'
import { type FieldDeclaration, optionsOf } from '../fields/declared.ts'
import type { FieldType } from '../fields/field-type.ts'
import { canonicalOf } from '../json-schema/faults.ts'
import { anyoneRule, type Rule, type Scalar } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import {
  booleanType,
  commonType,
  convertedTo,
  countType,
  datePartType,
  dateType,
  datetimeType,
  isAmount,
  isNull,
  plainTypeOf,
  realType,
  textType,
  typed,
  wholeType,
} from './expression-types.ts'
import type { Faults } from './faults.ts'
import type { Outline, Outlines } from './outline.ts'
import { isRefusedRelation } from './refused-relations.ts'
import { dependsOnCaller, dependsOnRowAlone, type RuleCheck } from './rules.ts'

/** The maximum nesting of an expression. */
const maxDepth = 10
/** Of one expression. Each relation is a subquery. */
const maxParts = 50
const maxRelations = 10
const maxPath = 5
const maxSortKeys = 8
/** Sums of four million such values are exact. */
const maxSummand = 2 ** 31

interface ExpressionContext {
  readonly outlines: Outlines
  readonly rules: RuleCheck
  /** Of the computed field. */
  readonly place: string
  readonly faults: Faults
}

/** The remaining budget of one expression. */
interface ExpressionBudget {
  parts: number
  relations: number
}

export type ExpressionCheck = (expression: Expression, outline: Outline) => CheckedExpression | undefined

/** Undefined for an expression with faults, which are added to `faults`. */
export function expressionCheck(context: ExpressionContext): ExpressionCheck {
  return (expression, outline) => {
    const checker = new Checker(context, outline)
    const checked = checker.check(expression, 1)
    if (checked !== undefined && isNull(checked)) {
      return checker.fault('It is always null. Write an expression that has a value.')
    }
    const isPart = checked !== undefined && checked.kind !== 'aggregate'
    if (isPart && scannedLists(checked).length < relatedLists(checked).length) {
      return checker.fault(
        'A stored value is a computed field of its own, not a part of another. Leave `stored` out.',
      )
    }
    return checked
  }
}

class Checker {
  readonly #context: ExpressionContext
  readonly #outline: Outline
  readonly #budget: ExpressionBudget = { parts: maxParts, relations: maxRelations }

  constructor(context: ExpressionContext, outline: Outline) {
    this.#context = context
    this.#outline = outline
  }

  fault(message: string): undefined {
    const { faults, place } = this.#context
    if (!faults.list.some(fault => fault.place === place && fault.message === message)) {
      faults.add(place, message)
    }
    return undefined
  }

  check(expression: Expression, depth: number): CheckedExpression | undefined {
    if (depth > maxDepth) return this.fault(`It is nested more than ${maxDepth} deep. Simplify it.`)
    this.#budget.parts--
    if (this.#budget.parts < 0) return this.fault(`It has more than ${maxParts} parts. Simplify it.`)
    const inner = (part: Expression) => this.check(part, depth + 1)
    switch (expression?.kind) {
      case 'field':
        return this.#field(expression)
      case 'literal':
        return this.#literal(expression.value)
      case 'aggregate':
        return this.#aggregate(expression)
      case 'first':
        return this.#first(expression)
      case 'arithmetic':
        return this.#arithmetic(expression, inner)
      case 'concat':
        return this.#concat(expression, inner)
      case 'coalesce':
        return this.#coalesce(expression, inner)
      case 'when':
        return this.#when(expression, inner)
      case 'datePart':
        return this.#datePart(expression, inner)
      case 'round':
        return this.#round(expression, inner)
      default:
        return this.fault(
          "A part of it is not an expression. Write e.g. `count('tasks')` or `field('title')`.",
        )
    }
  }

  #field({ field: name }: ExpressionOf<'field'>): CheckedExpression | undefined {
    const names = String(name).split('.')
    const field = names.pop() ?? ''
    if (names.length > maxPath) return this.fault(`\`${name}\` follows more than ${maxPath} relations.`)
    let outline: Outline | undefined = this.#outline
    for (const relation of names) outline = outline && this.#follow(outline, relation, 'one')
    const declared = outline && this.#declared(outline, field)
    if (!outline || !declared) return undefined
    const optional = names.length > 0 || optionsOf(declared).optional === true || isGuarded(declared)
    return typed({ kind: 'field', path: names, field }, declared.type, optional)
  }

  #literal(value: Scalar): CheckedExpression | undefined {
    const part = { kind: 'literal', value } as const
    if (value === null) return typed(part, textType, true)
    const type =
      typeof value === 'boolean'
        ? booleanType
        : typeof value === 'number'
          ? Number.isSafeInteger(value)
            ? wholeType
            : realType
          : textType
    const canonical = canonicalOf(type, value)
    if ('fault' in canonical)
      return this.fault(`A constant must be a text, a number, true or false. ${canonical.fault}`)
    return typed(part, type, false)
  }

  #aggregate(expression: ExpressionOf<'aggregate'>): CheckedExpression | undefined {
    const { function: name, relation, field, asSystem, stored } = expression
    const target = this.#follow(this.#outline, relation, 'many')
    const where = target && this.#where(expression.where, target)
    if (!target || !where) return undefined
    if (typeof asSystem !== 'boolean' || typeof stored !== 'boolean')
      return this.fault('`asSystem` and `stored` are true or false.')
    if (asSystem && dependsOnCaller(where)) return this.fault(foreignCondition)
    if (stored) {
      const reason = this.#unstorable(expression, target, where)
      if (reason !== undefined) return this.fault(`It cannot be stored. ${reason}`)
    }
    const part = { kind: 'aggregate', function: name, relation, field, where, asSystem, stored } as const
    if (name === 'count') return typed(part, countType, false)
    const declared = this.#declared(target, String(field))
    return declared && this.#aggregateOf(part, declared)
  }

  #aggregateOf(part: CheckedPart & { kind: 'aggregate' }, declared: FieldDeclaration) {
    const { type } = declared
    const { function: name, field } = part
    if (name === 'min' || name === 'max') {
      if (!type.operators.includes('gt'))
        return this.fault(`\`${field}\` is a ${type.name} field, whose values have no order.`)
      if (!part.asSystem || isAmount(type) || type.encoding.now !== undefined) return typed(part, type, true)
      return this.fault(
        `\`${field}\` is a ${type.name} field: \`asSystem\` publishes only numbers and times of hidden items.`,
      )
    }
    if (isAmount(type)) return typed(part, name === 'avg' ? realType : plainTypeOf(type), !part.stored)
    return this.fault(`\`${field}\` is a ${type.name} field, but \`${name}\` takes numbers.`)
  }

  /** Why the writes of related items cannot keep the value. */
  #unstorable(
    { function: name, relation, field, asSystem }: ExpressionOf<'aggregate'>,
    target: Outline,
    where: Rule,
  ): string | undefined {
    if (name !== 'count' && name !== 'sum') return 'Only `count` and `sum` can be.'
    if (!asSystem) return 'It is the same for every caller: write `asSystem: true`, which publishes it.'
    if (this.#outline.relations.get(relation)?.kind !== 'many')
      return 'The related items must refer to this one by a field of their own.'
    if (!dependsOnRowAlone(where))
      return 'Its condition may compare only the related item’s own fields, and only with constants.'
    if (name === 'count') return undefined
    const { schema, encoding } = target.fields.get(String(field))?.type ?? wholeType
    const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
    if (encoding.isWhole && Number(minimum) >= -maxSummand && Number(maximum) <= maxSummand) return undefined
    return `Sums are exact only of integers within ±2^31. Write e.g. \`${field}: integer({ min: 0, max: 1_000_000 })\`.`
  }

  #first(expression: ExpressionOf<'first'>): CheckedExpression | undefined {
    const { relation, field, asSystem } = expression
    if (asSystem)
      return this.fault(
        '`first` selects an item, so it has no `asSystem`. Publish a number: `count`, `sum`, `min`, `max` or `avg`.',
      )
    const target = this.#follow(this.#outline, relation, 'many')
    const declared = target && this.#declared(target, field)
    const where = target && this.#where(expression.where, target)
    const sort = target && this.#sort(expression.sort, target)
    if (!declared || !where || !sort) return undefined
    return typed({ kind: 'first', relation, field, sort, where }, declared.type, true)
  }

  #sort(keys: unknown, target: Outline) {
    if (!Array.isArray(keys) || keys.length > maxSortKeys) {
      return this.fault(`\`sort\` takes up to ${maxSortKeys} names, e.g. \`sort: '-created_at'\`.`)
    }
    const sort = keys.map(key => {
      const descending = String(key).startsWith('-')
      return { field: String(key).slice(descending ? 1 : 0), descending }
    })
    for (const { field } of sort) {
      const declared = this.#declared(target, field)
      if (!declared) return undefined
      if (!declared.type.sortable)
        return this.fault(`\`${field}\` is a ${declared.type.name} field, which has no order.`)
    }
    return sort
  }

  #arithmetic(
    { operator, left, right }: ExpressionOf<'arithmetic'>,
    inner: Inner,
  ): CheckedExpression | undefined {
    const [a, b] = [inner(left), inner(right)]
    if (!a || !b) return undefined
    if (isNull(a) || isNull(b)) return this.fault(`\`${operator}\` takes numbers, not null.`)
    const refused = [a, b].find(part => !isAmount(part.type))
    if (refused) return this.fault(`\`${operator}\` takes numbers, not a ${refused.type.name}.`)
    const isWhole = operator !== '/' && [a, b].every(part => part.type.encoding === wholeType.encoding)
    return typed({ kind: 'arithmetic', operator, left: a, right: b }, isWhole ? wholeType : realType, true)
  }

  #round({ of }: ExpressionOf<'round'>, inner: Inner): CheckedExpression | undefined {
    const part = inner(of)
    if (part === undefined) return undefined
    if (!isNull(part) && isAmount(part.type)) return typed({ kind: 'round', of: part }, wholeType, true)
    return this.fault(`\`round\` takes a number, not ${isNull(part) ? 'null' : `a ${part.type.name}`}.`)
  }

  #concat({ parts }: ExpressionOf<'concat'>, inner: Inner): CheckedExpression | undefined {
    const checkedParts = this.#parts('concat', parts, inner)
    const unsupported = checkedParts?.find(
      ({ type }) => type.encoding === realType.encoding || type.encoding === booleanType.encoding,
    )
    if (unsupported) {
      return this.fault(`\`concat\` takes texts, whole numbers and dates, not a ${unsupported.type.name}.`)
    }
    return checkedParts && typed({ kind: 'concat', parts: checkedParts }, textType, false)
  }

  #coalesce({ parts }: ExpressionOf<'coalesce'>, inner: Inner): CheckedExpression | undefined {
    const checkedParts = this.#parts('coalesce', parts, inner)
    const unified = checkedParts && this.#unify(checkedParts)
    if (!unified) return undefined
    const optional = unified.parts.every(part => part.optional)
    return typed({ kind: 'coalesce', parts: unified.parts }, unified.type, optional)
  }

  #parts(name: string, parts: unknown, inner: Inner): readonly CheckedExpression[] | undefined {
    if (!Array.isArray(parts) || parts.length === 0) return this.fault(`\`${name}\` takes at least one part.`)
    const checkedParts = parts.map(inner)
    return checkedParts.every(part => part !== undefined) ? checkedParts : undefined
  }

  #when({ rule, value, otherwise }: ExpressionOf<'when'>, inner: Inner): CheckedExpression | undefined {
    const branches = [inner(value), inner(otherwise)]
    const checkedRule = this.#rule(rule, this.#outline)
    if (!branches.every(branch => branch !== undefined) || !checkedRule) return undefined
    const unified = this.#unify(branches)
    const [a, b] = unified?.parts ?? []
    if (!unified || !a || !b) return undefined
    return typed(
      { kind: 'when', rule: checkedRule, value: a, otherwise: b },
      unified.type,
      a.optional || b.optional,
    )
  }

  #datePart({ part, of }: ExpressionOf<'datePart'>, inner: Inner): CheckedExpression | undefined {
    const operand = inner(of)
    if (!operand) return undefined
    if (!dateParts.includes(part)) {
      return this.fault(`There is no part \`${part}\` of a date. Write one of ${dateParts.join(', ')}.`)
    }
    const { encoding, name } = operand.type
    const fits = encoding === datetimeType.encoding || (encoding === dateType.encoding && part !== 'hour')
    if (!fits || isNull(operand)) {
      return this.fault(
        `\`datePart('${part}', …)\` takes a ${part === 'hour' ? 'time' : 'date or time'}, not a ${name}.`,
      )
    }
    return typed(
      { kind: 'datePart', part, of: operand },
      part === 'date' ? dateType : datePartType,
      operand.optional,
    )
  }

  /** The parts as values of one type. Constants take the type of the others. */
  #unify(
    parts: readonly CheckedExpression[],
  ): { readonly type: FieldType; readonly parts: readonly CheckedExpression[] } | undefined {
    const valued = parts.filter(part => !isNull(part))
    const leading = valued.find(part => part.kind !== 'literal') ?? valued[0]
    if (leading === undefined) return this.fault('It is always null. Write an expression that has a value.')
    const converted = parts.map(part => convertedTo(leading.type, part))
    const types = converted.filter(part => !isNull(part)).map(part => part.type)
    const type = commonType(types)
    if (type !== undefined) return { type, parts: converted }
    const names = [...new Set(types.map(({ name }) => name))]
    return this.fault(`It is sometimes a ${names.join(', sometimes a ')}. Write values of one type.`)
  }

  /** The target of a relation. */
  #follow(outline: Outline, name: string, kind: 'one' | 'many'): Outline | undefined {
    const relation = outline.relations.get(name)
    if (isRefusedRelation(outline, name, this.#context.outlines)) return undefined
    const candidates = [...outline.relations.values()].filter(
      candidate => (candidate.kind === 'one') === (kind === 'one'),
    )
    if (!relation || !candidates.includes(relation)) {
      const suggestion = didYouMean(
        String(name),
        candidates.map(candidate => candidate.name),
      )
      const items = kind === 'one' ? 'one item' : 'many items'
      return this.fault(`\`${outline.name}\` has no relation to ${items} \`${name}\`.${suggestion}`)
    }
    this.#budget.relations--
    if (this.#budget.relations < 0) {
      return this.fault(`It follows more than ${maxRelations} relations. Simplify it.`)
    }
    const through = relation.kind === 'manyToMany' ? [relation.through] : []
    const unlogged = [relation.target, ...through].find(
      collection => this.#context.outlines.get(collection)?.unlogged,
    )
    if (unlogged !== undefined) return this.fault(`Computed fields cannot use the items of \`${unlogged}\`.`)
    return this.#context.outlines.get(relation.target)
  }

  #declared(outline: Outline, name: string): FieldDeclaration | undefined {
    const declared = outline.fields.get(name)
    if (!declared) {
      const suggestion = didYouMean(name, outline.fields.keys())
      return this.fault(`\`${outline.name}\` has no field \`${name}\`.${suggestion}`)
    }
    const { internal, writeOnly } = optionsOf(declared)
    if (internal === true || writeOnly === true) {
      return this.fault(
        `\`${outline.name}.${name}\` is never returned by the API, but a computed field would reveal it. Remove it.`,
      )
    }
    if (declared.type.isDocument || declared.type.file) {
      return this.fault(
        `\`${outline.name}.${name}\` is a ${declared.type.name} field, which computed fields cannot use.`,
      )
    }
    return declared
  }

  #where(where: Rule | undefined, target: Outline): Rule | undefined {
    return where === undefined ? anyoneRule : this.#rule(where, target)
  }

  #rule(rule: unknown, outline: Outline): Rule {
    const { rules, place } = this.#context
    return rules({ rule: isObject(rule) ? rule : {} }, outline, place, anyoneRule)
  }
}

type ExpressionOf<Kind extends Expression['kind']> = Extract<Expression, { readonly kind: Kind }>
type Inner = (part: Expression) => CheckedExpression | undefined

const foreignCondition =
  'A value with `asSystem` is the same for every caller, so its condition cannot depend on the caller. Compare fields with constants, other fields or `now`.'

const dateParts: readonly DatePart[] = ['year', 'month', 'day', 'hour', 'weekday', 'date']

function isGuarded(declared: FieldDeclaration): boolean {
  return optionsOf(declared).access?.read !== undefined
}
