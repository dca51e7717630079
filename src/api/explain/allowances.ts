/** Why a request is allowed, and which fields its answer omits. */

import { namesFor } from '../../engine/plan/guard/guard.ts'
import { isWrite } from '../../engine/plan/plan.ts'
import type { Collection } from '../../model/model.ts'
import { ruleSource } from '../../model/rule/rule-text.ts'
import { itemOf, type ReasonParts, treeAt } from './evaluation.ts'
import type { Reason } from './explanation.ts'
import type { Attempt } from './rehearsal.ts'
import { absenceReason, ruleMembers, ruleReason } from './rule-reasons.ts'

/** The maximum number of explained plans: further ones add little. */
const maxPlans = 10

export async function allowanceReasons(parts: ReasonParts): Promise<readonly Reason[]> {
  const explainedKeys = new Set<string>()
  const addKey = (key: string) => !explainedKeys.has(key) && explainedKeys.add(key)
  const attempts = parts.attempts.filter(candidate => !candidate.isFromCode)
  const reasons: Reason[] = []
  for (const operationName of parts.operations)
    if (addKey(operationName)) reasons.push(await operationReason(parts, operationName))
  for (const attempt of attempts.slice(0, maxPlans)) {
    const { shape } = attempt.plan
    if (shape.kind === 'composite') {
      reasons.push(...(await rootReasons(parts, attempt, addKey)))
      continue
    }
    const operation = isWrite(attempt.plan) ? shape.kind : 'read'
    if (!addKey(`${operation} ${shape.collection} ${itemOf(attempt.plan)?.id}`)) continue
    reasons.push(await ruleReason(parts, { collection: shape.collection, operation }, attempt, true))
    if (operation === 'read') reasons.push(...(await hiddenFields(parts, attempt)))
  }
  return reasons
}

/** `name`: of an action or a query, e.g. `actions.archive`. */
function operationReason(parts: ReasonParts, name: string): Promise<Reason> {
  const { actions, queries } = parts.model.logic
  const operation = name.slice(name.indexOf('.') + 1)
  const { collection = '' } = (name.startsWith('actions.') ? actions : queries).get(operation) ?? {}
  const attempt = parts.attempts.find(
    candidate =>
      !candidate.isFromCode &&
      candidate.plan.shape.kind === 'item' &&
      candidate.plan.shape.collection === collection,
  )
  return ruleReason(parts, { collection, operation }, attempt, true)
}

/** For the roots of a GraphQL query, where a hidden item is null without an error. */
async function rootReasons(
  parts: ReasonParts,
  { plan, principal, text = '{}' }: Attempt,
  isNew: (key: string) => unknown,
): Promise<readonly Reason[]> {
  if (plan.shape.kind !== 'composite') return []
  const answer: Readonly<Record<string, unknown>> = JSON.parse(text)
  const reasons: Reason[] = []
  for (const root of plan.shape.roots) {
    const { key, collection } = root
    const id = root.kind === 'item' ? Number(plan.args[root.id]) : undefined
    if (!isNew(`read ${collection} ${id}`)) continue
    if (id !== undefined && answer[key] === null) {
      reasons.push({ ...(await absenceReason(parts, { collection, id })), path: [key] })
      continue
    }
    const read: Attempt = { plan: { ...plan, shape: { ...plan.shape, roots: [root] } }, principal }
    reasons.push({ ...(await ruleReason(parts, { collection, operation: 'read' }, read, true)), path: [key] })
  }
  return reasons
}

async function hiddenFields(parts: ReasonParts, { plan, principal }: Attempt): Promise<readonly Reason[]> {
  if (plan.shape.kind !== 'item' && plan.shape.kind !== 'list') return []
  const collection = parts.model.collections.get(plan.shape.collection)
  if (collection === undefined) return []
  const names = namesFor(parts.model, collection, principal.access).fields
  const id = plan.shape.kind === 'item' ? itemOf(plan)?.id : undefined
  const reasons: Reason[] = []
  for (const { name, internal, access } of collection.fields.values()) {
    if (internal || access.read.kind === 'anyone') continue
    const reason = await hiddenField(parts, collection, { name, rule: access.read, id }, !names.has(name))
    if (reason !== undefined) reasons.push(reason)
  }
  return reasons
}

interface RestrictedField {
  readonly name: string
  readonly rule: Collection['access']['read']
  readonly id: number | undefined
}

async function hiddenField(
  parts: ReasonParts,
  collection: Collection,
  { name, rule, id }: RestrictedField,
  isOmitted: boolean,
): Promise<Reason | undefined> {
  const tree = await treeAt(parts, rule, collection, id)
  if (!isOmitted && id !== undefined && tree?.holds !== false) return undefined
  const predicate = isOmitted
    ? 'is left out'
    : id === undefined
      ? 'is null where its read rule does not hold'
      : 'is null'
  const message = `The field ${name} ${predicate}: its read rule is ${ruleSource(rule)}.`
  const base = { kind: 'field' as const, collection: collection.name, operation: 'read', fields: [name] }
  return { ...base, message, ...ruleMembers(rule, tree) }
}
