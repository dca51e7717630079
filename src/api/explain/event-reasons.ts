/** Which events a listener receives, and which not, by REST and by GraphQL subscriptions. */

import { ApiError } from '../../base/errors.ts'
import { collectionOfPattern, coversType, typesOf } from '../../engine/log/event-types.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import type { Collection, Model } from '../../model/model.ts'
import { ruleSource } from '../../model/rule/rule-text.ts'
import { offersEvents } from '../events/event-request.ts'
import { type ReasonParts, treeAt } from './evaluation.ts'
import type { Reason } from './explanation.ts'
import { refusalReasons } from './refusals.ts'
import { because, ruleMembers } from './rule-reasons.ts'

export interface ExplainedEvents {
  readonly collections: readonly Collection[]
  readonly includes: (type: string) => boolean
  /** Only with one collection. */
  readonly itemId: number | undefined
}

/** The events that a valid query of `/events` selects. */
export function selectionOf(model: Model, query: string): ExplainedEvents {
  const parameters = new URLSearchParams(query)
  const listOf = (name: string) => parameters.get(name)?.split(',')
  const types = listOf('types')
  const namedCollections = listOf('collections')?.flatMap(name => model.collections.get(name) ?? [])
  const patterns = types?.map(type => collectionOfPattern(model, type))
  const logged = [...model.collections.values()].filter(offersEvents)
  const isSelected = (collection: Collection) =>
    patterns?.some(pattern => pattern === 'all' || pattern === collection) ?? true
  const id = parameters.get('item_id')
  return {
    collections: namedCollections ?? logged.filter(isSelected),
    includes: type => types === undefined || types.some(pattern => coversType(pattern, type)),
    itemId: id === null ? undefined : Number(id),
  }
}

export async function eventReasons(
  parts: ReasonParts,
  selection: ExplainedEvents,
): Promise<readonly Reason[]> {
  const reasons: Reason[] = []
  for (const collection of selection.collections) {
    const types = typesOf(collection).filter(selection.includes)
    if (types.length > 0)
      reasons.push(...(await collectionReasons(parts, collection, types, selection.itemId)))
  }
  return reasons
}

async function collectionReasons(
  parts: ReasonParts,
  collection: Collection,
  types: readonly string[],
  id: number | undefined,
): Promise<readonly Reason[]> {
  const { model, principal } = parts
  try {
    admit(model, collection, 'read', principal.access)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const reasons = await refusalReasons({ ...parts, attempts: [] }, error)
    const prefix = `Not delivered: ${types.join(', ')}.`
    return reasons.map(reason => ({ ...reason, types, message: `${prefix} ${reason.message}` }))
  }
  const hasOwnRule = (type: string) => (collection.emits?.get(type)?.access.kind ?? 'anyone') !== 'anyone'
  const typesByReadRule = types.filter(type => !hasOwnRule(type))
  const reasons =
    typesByReadRule.length > 0
      ? [await eventReason(parts, collection, typesByReadRule, collection.access.read, id)]
      : []
  for (const type of types.filter(hasOwnRule)) {
    const { access } = collection.emits?.get(type) ?? { access: collection.access.read }
    reasons.push(await eventReason(parts, collection, [type], access, id))
  }
  return reasons
}

async function eventReason(
  parts: ReasonParts,
  collection: Collection,
  types: readonly string[],
  rule: Collection['access']['read'],
  id: number | undefined,
): Promise<Reason> {
  const { name } = collection
  const tree = await treeAt(parts, rule, collection, id)
  const source = ruleSource(rule)
  const typeList = types.join(', ')
  const message =
    id === undefined || tree?.holds == null
      ? `Delivered: ${typeList}, of each item of ${name} for which the rule ${source} holds.`
      : `${tree.holds ? 'Delivered' : 'Not delivered'}: ${typeList} of ${name}/${id}. The rule ${source} ${tree.holds ? 'holds' : 'does not hold'}.${tree.holds ? '' : because(tree)}`
  const base = { kind: 'rule' as const, collection: name, operation: 'read', types }
  return { ...base, ...(id !== undefined && { id }), message, ...ruleMembers(rule, tree) }
}
