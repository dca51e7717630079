/**
 * Evaluates each part of a rule for one item and one caller. The database evaluates the same condition that the guard
 * enforces, so the explanation cannot differ from it.
 */

import type { EpochMs } from '../../base/epoch-ms.ts'
import { fold } from '../../base/predicate.ts'
import type { Principal } from '../../base/principal.ts'
import type { ReadAnswer } from '../../engine/plan/answer.ts'
import type { Guard } from '../../engine/plan/guard/guard.ts'
import { maxRelated, type RuleProbes } from '../../engine/plan/guard/probe.ts'
import type { GuardedRead } from '../../engine/plan/guarded.ts'
import { itemShape } from '../../engine/plan/system-plans.ts'
import type { Collection, Model } from '../../model/model.ts'
import { type CallerRule, callerRuleKind, isCallerRule } from '../../model/rule/caller-rules.ts'
import { followPath, pathsOf } from '../../model/rule/paths.ts'
import { anyoneRule, type Rule, type RuleLeaf } from '../../model/rule/rule.ts'
import { ruleSource } from '../../model/rule/rule-text.ts'
import type { RulePart } from './explanation.ts'

export interface TreeParts {
  readonly model: Model
  readonly guard: Guard
  readonly probes: RuleProbes
  /** The principal whose request is explained. */
  readonly principal: Principal
  /** The principal who reads the explanation, without values that they cannot read. Undefined: the operator, who may read all but secrets. */
  readonly viewer: Principal | undefined
  readonly now: () => EpochMs
  /** Replaces a read by the viewer. */
  readonly mayShow?: ((place: ItemPlace, field: string) => ReadSteps<boolean>) | undefined
}

export type ReadSteps<T> = Generator<GuardedRead, T, ReadAnswer>

export interface ItemPlace {
  readonly collection: Collection
  readonly id: number
}

const maxShownCharacters = 80

/** `place` undefined: there is no item, so only the parts that depend on the caller alone are decided. */
export function* ruleTree(parts: TreeParts, rule: Rule, place: ItemPlace | undefined): ReadSteps<RulePart> {
  const holds = place ? yield* holdsFor(parts, rule, place) : holdsForCaller(rule, parts.principal)
  const part = { rule: ruleSource(rule), holds }
  switch (rule.kind) {
    case 'and':
    case 'or': {
      const innerParts: RulePart[] = []
      for (const innerRule of rule.parts) innerParts.push(yield* ruleTree(parts, innerRule, place))
      return { ...part, parts: innerParts }
    }
    case 'not':
      return { ...part, parts: [yield* ruleTree(parts, rule.part, place)] }
    case 'compare':
      return place ? { ...part, because: yield* comparison(parts, rule, place) } : part
    case 'related':
      return place ? { ...part, ...(yield* relatedItems(parts, rule, place)) } : part
    default:
      return { ...part, because: yield* callerReason(parts, rule) }
  }
}

function* holdsFor(
  { probes, principal }: TreeParts,
  rule: Rule,
  { collection, id }: ItemPlace,
): ReadSteps<boolean> {
  const { text } = yield probes.holds(rule, collection, id, principal)
  return text !== null
}

/** Whether the rule holds, if it depends on the caller alone. Null: it depends on the item. */
function holdsForCaller(rule: Rule, { access }: Principal): boolean | null {
  return fold<RuleLeaf, boolean | null>(rule, {
    and: parts => decidedBy(false, parts),
    or: parts => decidedBy(true, parts),
    not: part => (part === null ? null : !part),
    leaf: leaf => (isCallerRule(leaf) ? callerRuleKind(leaf).holds(leaf, access) : null),
  })
}

/** Kleene's three-valued logic: one part with the deciding value decides, else every part must be known. */
function decidedBy(deciding: boolean, parts: readonly (boolean | null)[]): boolean | null {
  if (parts.includes(deciding)) return deciding
  return parts.includes(null) ? null : !deciding
}

function* callerReason(parts: TreeParts, rule: CallerRule): ReadSteps<string> {
  const { userId, access } = parts.principal
  const { because, reveals } = callerRuleKind(rule)
  const collection = parts.model.collections.get('users')
  const isShown =
    reveals === undefined ||
    access[reveals] === null ||
    userId === null ||
    !collection ||
    (yield* mayShowAt(parts, { collection, id: userId }, reveals))
  return because(isShown ? access : { ...access, [reveals]: hiddenValue })
}

type CompareRule = Rule & { readonly kind: 'compare' }

function* comparison(parts: TreeParts, rule: CompareRule, place: ItemPlace): ReadSteps<string> {
  const facts: string[] = []
  for (const path of pathsOf(rule)) facts.push(`${path} is ${yield* shownValue(parts, path, place)}`)
  const { operand } = rule
  const { userId, app, claims } = parts.principal
  if (operand.kind === 'userId')
    facts.push(userId === null ? 'nobody is signed in' : `the caller is ${userId}`)
  if (operand.kind === 'appId') facts.push(app === null ? 'there is no app' : `the caller's app is ${app.id}`)
  if (operand.kind === 'now')
    facts.push(`the time is ${new Date(parts.now() + operand.shiftMs).toISOString()}`)
  if (operand.kind === 'claim') {
    const value = claims?.values.get(operand.claim)
    facts.push(
      value === undefined
        ? `the token has no claim ${operand.claim}`
        : `the claim ${operand.claim} is ${JSON.stringify(value)}`,
    )
  }
  if (operand.kind === 'caller') facts.push(yield* callerField(parts, operand.field))
  return facts.join(', ')
}

function* callerField(parts: TreeParts, field: string): ReadSteps<string> {
  const { userId } = parts.principal
  const collection = parts.model.collections.get('users')
  if (userId === null || !collection) return 'nobody is signed in'
  const value = yield* shownValue(parts, field, { collection, id: userId })
  return `the caller's ${field} is ${value}${field === 'email' ? ' (it counts once it is confirmed)' : ''}`
}

/** The stored value as text, if the viewer may read it. */
function* shownValue(parts: TreeParts, path: string, place: ItemPlace): ReadSteps<string> {
  // Checked before the value is read: that it is empty must not be revealed either.
  if (!(yield* mayShow(parts, path, place))) return hiddenValue
  const { text } = yield parts.probes.value(path, place.collection, place.id, parts.principal)
  const value = innermost(text === null ? null : JSON.parse(text))
  if (value === undefined || value === null) return 'empty'
  const valueText = JSON.stringify(value)
  return valueText.length > maxShownCharacters ? `${valueText.slice(0, maxShownCharacters)}…` : valueText
}

export function* isNull(
  { probes, principal }: TreeParts,
  { collection, id }: ItemPlace,
  field: string,
): ReadSteps<boolean> {
  const { text } = yield probes.value(field, collection, id, principal)
  return text !== null && innermost(JSON.parse(text)) === null
}

function innermost(value: unknown): unknown {
  let inner = value
  while (typeof inner === 'object' && inner !== null && 'value' in inner) inner = inner.value
  return inner
}

/** Whether the viewer may read the value of a path along to-one relations. */
function* mayShow(parts: TreeParts, path: string, place: ItemPlace): ReadSteps<boolean> {
  const { steps, field } = followPath(path, place.collection, name => collectionOf(parts.model, name))
  let current: ItemPlace = place
  for (const { relation, target } of steps) {
    const { text } = yield parts.probes.value(relation.field, current.collection, current.id, parts.principal)
    const id = innermost(JSON.parse(text ?? 'null'))
    // The path ends here: its value is empty because this field is.
    if (typeof id !== 'number') return yield* mayShowAt(parts, current, relation.field)
    current = { collection: target, id }
  }
  return yield* mayShowAt(parts, current, field.name)
}

function* mayShowAt(parts: TreeParts, place: ItemPlace, field: string): ReadSteps<boolean> {
  const { internal, writeOnly } = place.collection.fields.get(field) ?? {}
  if (internal || writeOnly) return false
  if (parts.viewer === undefined) return true
  return yield* (parts.mayShow ?? (() => mayShowStored(parts, place, field)))(place, field)
}

/** Reads the row as the viewer. A null is either stored, or hides the value: the field's read rule decides which. */
export function* mayShowStored(
  { guard, probes, viewer }: TreeParts,
  { collection, id }: ItemPlace,
  name: string,
): ReadSteps<boolean> {
  if (viewer === undefined) return true
  try {
    const { text } = yield guard({ shape: itemShape(collection.name, [name]), args: [id] }, viewer)
    if (text === null || JSON.parse(text)[name] !== null) return text !== null
    const field = collection.fields.get(name)
    return (
      field !== undefined && (yield probes.holds(field.access.read, collection, id, viewer)).text !== null
    )
  } catch {
    return false
  }
}

function collectionOf({ collections }: Model, name: string): Collection {
  const collection = collections.get(name)
  if (collection === undefined) throw new Error(`the model has no ${name}`)
  return collection
}

type RelatedRule = Rule & { readonly kind: 'related' }

/** The related item that decides, and the rule for it. */
function* relatedItems(parts: TreeParts, rule: RelatedRule, place: ItemPlace): ReadSteps<Partial<RulePart>> {
  const relation = place.collection.relations.get(rule.relation)
  if (relation === undefined) return {}
  const target = collectionOf(parts.model, relation.target)
  if (relation.kind === 'one') {
    const { text } = yield parts.probes.value(relation.field, place.collection, place.id, parts.principal)
    const id = innermost(text === null ? null : JSON.parse(text))
    if (typeof id !== 'number') return { because: `${relation.field} is empty` }
    const isShown = yield* mayShowAt(parts, place, relation.field)
    return {
      because: isShown ? `it is ${target.singular} ${id}` : `it is a ${target.singular} ${hiddenItem}`,
      parts: [yield* ruleTree(parts, rule.rule, { collection: target, id })],
    }
  }
  return yield* relatedMany(parts, rule, place, target)
}

function* relatedMany(
  parts: TreeParts,
  rule: RelatedRule,
  place: ItemPlace,
  target: Collection,
): ReadSteps<Partial<RulePart>> {
  const fulfilling = yield* relatedIds(parts, rule, rule.rule, place)
  const [id] = fulfilling
  if (id !== undefined) {
    return {
      because: `${yield* itemText(parts, target, id)} fulfils it`,
      parts: [yield* ruleTree(parts, rule.rule, { collection: target, id })],
    }
  }
  // The closest item: the first one that fulfils the first part.
  const [first] = rule.rule.kind === 'and' ? rule.rule.parts : []
  const closest = first && (yield* relatedIds(parts, rule, first, place))
  if (closest?.[0] !== undefined) {
    return {
      because: `none of the ${rule.relation} fulfils it; ${yield* itemText(parts, target, closest[0])} comes closest`,
      parts: [yield* ruleTree(parts, rule.rule, { collection: target, id: closest[0] })],
    }
  }
  const relatedItemIds = yield* relatedIds(parts, rule, anyoneRule, place)
  const count = relatedItemIds.length >= maxRelated ? 'several' : String(relatedItemIds.length)
  return {
    because:
      relatedItemIds.length === 0
        ? `there are no ${rule.relation}`
        : `none of the ${count} ${rule.relation} fulfils it`,
  }
}

const hiddenValue = '(a value you may not read)'
const hiddenItem = '(which you may not read)'

function* itemText(parts: TreeParts, collection: Collection, id: number): ReadSteps<string> {
  const isShown = yield* mayShowAt(parts, { collection, id }, 'id')
  return isShown ? `${collection.singular} ${id}` : `a ${collection.singular} ${hiddenItem}`
}

function* relatedIds(
  parts: TreeParts,
  { relation }: RelatedRule,
  rule: Rule,
  { collection, id }: ItemPlace,
): ReadSteps<readonly number[]> {
  const { text } = yield parts.probes.related(rule, collection, relation, id, parts.principal)
  return (JSON.parse(text ?? '[]') as readonly { readonly id: number }[]).map(item => item.id)
}
