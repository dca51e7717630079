/** Checks the right sides of comparisons other than literals: the time, other fields, the caller's fields, claims. */
import type { FieldDeclaration, FieldOptions } from '../fields/declared.ts'
import { appIdPath, claimTypeOf, type RuleOfKind, type RuleOperand } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import type { Outline, Outlines } from './outline.ts'
import { type FieldPlace, type RefusedPath, resolveFieldPath } from './rule-paths.ts'

/** A century. A larger shift is probably a mistake, and may exceed the range of dates. */
const maxShiftMs = 100 * 366 * 86_400_000

type OperandOf<K extends RuleOperand['kind']> = Extract<RuleOperand, { readonly kind: K }>

export interface Compared {
  readonly rule: RuleOfKind<'compare'>
  readonly left: FieldPlace
  /** The collection of the rule's row. */
  readonly outline: Outline
  readonly outlines: Outlines
  /** The number of relations that the rule has followed. */
  readonly relations: number
}

export function isRefused(place: FieldPlace | RefusedPath): place is RefusedPath {
  return 'fault' in place
}

/** The fault of the right side, with a correction. */
export function operandFault(compared: Compared): string | undefined {
  const { operand } = compared.rule
  switch (operand.kind) {
    case 'now':
      return nowFault(operand, compared)
    case 'field':
      return fieldFault(operand, compared)
    case 'appId':
      return appFault(compared)
    case 'caller':
      return callerFault(operand, compared)
    case 'claim':
      return claimFault(operand, compared)
    default:
      return undefined
  }
}

function nowFault({ shiftMs }: OperandOf<'now'>, { rule, left }: Compared): string | undefined {
  if (left.declared.type.encoding.now === undefined) {
    return `\`${rule.field}\` is a ${left.declared.type.name} field, and \`now\` a time. Compare a \`datetime\` or \`date\` field with it.`
  }
  if (rule.comparison === 'in') return '`in` takes a list of values. Write e.g. `lte(now)`.'
  if (Number.isNaN(shiftMs)) {
    return '`now` is shifted by an invalid duration. Write weeks, days, hours, minutes or seconds, e.g. `now.minus({ minutes: 15 })`.'
  }
  if (Math.abs(shiftMs) > maxShiftMs) return '`now` is shifted by more than a hundred years. Write less.'
  return undefined
}

function fieldFault(
  { field }: OperandOf<'field'>,
  { rule, left, outline, outlines, relations }: Compared,
): string | undefined {
  const right = resolveFieldPath(field, outline, outlines, relations)
  if (isRefused(right)) return right.fault
  if (rule.comparison === 'in') return '`in` takes a list of values. Write `eq` to compare two fields.'
  if (!right.declared.type.operators.includes(rule.comparison)) {
    return `\`${field}\` is a ${right.declared.type.name} field: \`${rule.comparison}\` cannot compare it.`
  }
  return differenceOf(rule.field, left, field, right)
}

function callerFault({ field }: OperandOf<'caller'>, compared: Compared): string | undefined {
  const { rule, left, outlines } = compared
  const users = outlines.get('users')
  const declared = users?.fields.get(field)
  if (users === undefined || declared === undefined) {
    const suggestion = didYouMean(String(field), users?.fields.keys() ?? [])
    return `\`users\` has no field \`${field}\`, so the caller has none.${suggestion}`
  }
  const { internal, writeOnly } = declared.options as FieldOptions
  if (internal || writeOnly) {
    return `\`users.${field}\` is never returned by the API, and a comparison would reveal its value. Use another field.`
  }
  const right = { outline: users, name: field, declared }
  return (
    equalityFault(rule, `caller('${field}')`) ?? differenceOf(rule.field, left, `caller('${field}')`, right)
  )
}

function appFault({ rule, left }: Compared): string | undefined {
  const operandText = `caller('${appIdPath}')`
  if (targetOf(left) !== 'oauth_apps')
    return `\`${rule.field}\` holds no app, and \`${operandText}\` is one. Name a field that is \`relation('oauth_apps')\`.`
  return equalityFault(rule, operandText)
}

function claimFault({ claim }: OperandOf<'claim'>, { rule, left }: Compared): string | undefined {
  if (typeof claim !== 'string' || claim === '' || claim.length > 200) {
    return "A claim needs a name of at most 200 characters. Write e.g. `claim('org_id')`."
  }
  const { type } = left.declared
  if (claimTypeOf(type.encoding) === undefined) {
    return `\`${rule.field}\` is a ${type.name} field, and a claim is a text, a number, or true or false. Compare a field of such a type with it.`
  }
  return equalityFault(rule, `claim('${claim}')`)
}

function equalityFault({ comparison }: RuleOfKind<'compare'>, operandText: string): string | undefined {
  if (comparison === 'eq' || comparison === 'ne') return undefined
  return `\`${comparison}\` cannot compare with \`${operandText}\`. Write \`eq\` or \`ne\`.`
}

/** The fault of two fields that hold different kinds of values. */
function differenceOf(
  leftName: string,
  left: FieldPlace,
  rightName: string,
  right: FieldPlace,
): string | undefined {
  if (familyOf(left.declared) !== familyOf(right.declared)) {
    return `\`${leftName}\` is a ${left.declared.type.name} field and \`${rightName}\` a ${right.declared.type.name} field. Compare fields of one type.`
  }
  const [leftTarget, rightTarget] = [targetOf(left), targetOf(right)]
  if (leftTarget === undefined || rightTarget === undefined || leftTarget === rightTarget) return undefined
  return `\`${leftName}\` holds the id of an item of \`${leftTarget}\`, and \`${rightName}\` of \`${rightTarget}\`. Compare ids of one collection.`
}

/** Values can be compared if their encodings have the same family. */
function familyOf({ type }: FieldDeclaration): string {
  const { encoding } = type
  return claimTypeOf(encoding) ?? encoding.name
}

/** The collection whose ids the field holds. */
function targetOf({ outline, name }: FieldPlace): string | undefined {
  return name === 'id' ? outline.name : outline.references.get(name)?.target
}
