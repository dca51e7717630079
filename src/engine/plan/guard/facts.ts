/**
 * Facts: what the read rules of a collection ask of other rows than the item itself, whoever asks, e.g. whether
 * `project.private` is true, or whether the item has holds. The event log keeps with each row which of them held: later, the
 * other rows have changed or are gone. A fact costs 11 bytes per row.
 */

import { hash } from 'node:crypto'
import { leavesOf } from '../../../base/predicate.ts'
import type { AccessClass } from '../../../base/principal.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { callerRuleKind, isCallerRule } from '../../../model/rule/caller-rules.ts'
import type { Rule, RuleLeaf } from '../../../model/rule/rule.ts'
import { conditionKey } from '../condition.ts'
import type { Condition } from '../guarded-conditions.ts'
import { type KeepFact, loggedCondition } from './logged.ts'
import { type ModelView, viewOf } from './model-view.ts'

export interface Fact {
  /** Equal for equal conditions, whichever model they are of. */
  readonly key: string
  readonly condition: Condition
}

/** In hexadecimal digits: a collection has a few facts. */
const keyLength = 10

/** One fact in the text of the log. */
export function statedFact(key: string, holds: boolean): string {
  return `${holds ? '+' : '-'}${key}`
}

/** The facts that two texts of the log agree on. */
export function agreedFacts(one: string, other: string): string {
  const stated = one.match(/[+-][^+-]+/g) ?? []
  return stated.filter(fact => other.includes(fact)).join('')
}

export function factKey(condition: Condition): string {
  return hash('sha256', conditionKey(condition)).slice(0, keyLength)
}

const factsByModel = new WeakMap<Model, WeakMap<Collection, readonly Fact[]>>()

/** The facts that the log keeps of each row of a collection, in the order of their keys. */
export function factsOf(model: Model, collection: Collection): readonly Fact[] {
  const byCollection = factsByModel.get(model) ?? new WeakMap<Collection, readonly Fact[]>()
  factsByModel.set(model, byCollection)
  const facts = byCollection.get(collection) ?? findFacts(model, collection)
  byCollection.set(collection, facts)
  return facts
}

function findFacts(model: Model, collection: Collection): readonly Fact[] {
  const found = new Map<string, Condition>()
  const keep: KeepFact = condition => {
    const key = factKey(condition)
    found.set(key, condition)
    return key
  }
  const context = { collection, event: { row: 0, facts: 0, at: 0 }, keep }
  for (const access of accessClasses(readRules(collection))) {
    for (const condition of conditionsOf(viewOf(model, access), collection))
      loggedCondition(condition, context)
  }
  return [...found].map(([key, condition]) => ({ key, condition })).sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** The rules that decide who is told of an event, and of which fields. */
function readRules({ access, fields, computed, emits }: Collection): readonly Rule[] {
  const shown = [...fields.values(), ...computed.values()].map(field => field.access.read)
  return [access.read, ...shown, ...[...(emits?.values() ?? [])].map(event => event.access)]
}

function conditionsOf(view: ModelView, collection: Collection): readonly Condition[] {
  const { fields, computed, emits } = collection
  return [
    view.readable(collection),
    ...[...fields.values(), ...computed.values()].map(field => view.visibleIn(collection, field)),
    ...[...(emits?.values() ?? [])].map(event => view.rule(event.access, collection)),
  ]
}

const anonymous: AccessClass = { key: 'facts', signedIn: false, role: null, scopes: 'all', system: false }

const userlessApp: AccessClass = { ...anonymous, scopes: new Set() }

/** Access classes that between them see all forms of the rules. A form that is missing here is a fact that the log lacks. */
function accessClasses(rules: readonly Rule[]): readonly AccessClass[] {
  const differences = rules
    .flatMap(allLeaves)
    .flatMap(leaf => (isCallerRule(leaf) ? callerRuleKind(leaf).callers(leaf) : []))
  let classes: readonly AccessClass[] = [anonymous, { ...anonymous, signedIn: true }, userlessApp]
  for (const difference of distinct(differences))
    classes = distinct([...classes, ...classes.map(access => ({ ...access, ...difference }))])
  return classes
}

function distinct<T>(values: readonly T[]): readonly T[] {
  const keyOf = (value: T) => JSON.stringify(value, (_, part) => (part instanceof Set ? [...part] : part))
  return [...new Map(values.map(value => [keyOf(value), value])).values()]
}

/** The leaves of a rule, and of the rules for related rows. */
function allLeaves(rule: Rule): readonly RuleLeaf[] {
  return leavesOf(rule).flatMap(leaf => (leaf.kind === 'related' ? allLeaves(leaf.rule) : [leaf]))
}
