/** Which events a listener receives and which it does not, by REST and by GraphQL subscriptions. */
import { ApiError } from '../errors.ts'
import { isLogged } from '../events/event-request.ts'
import { collectionOfPattern, coversType, typesOf } from '../events/event-types.ts'
import type { Collection, Model } from '../model/model.ts'
import { admit } from '../plan/guard.ts'
import type { Reason } from './explanation.ts'
import { type ReasonParts, treeAt } from './looks.ts'
import { refusalReasons } from './refusals.ts'
import { because, ofRule } from './rule-reasons.ts'
import { ruleSource } from './rule-source.ts'

export interface Wanted {
  readonly collections: readonly Collection[]
  readonly isWanted: (type: string) => boolean
  /** Of the collection, if there is only one. */
  readonly itemId: number | undefined
}

/** The events that the query of `/events` selects. The query is valid. */
export function wantedOf(model: Model, query: string): Wanted {
  const given = new URLSearchParams(query)
  const listed = (name: string) => given.get(name)?.split(',')
  const types = listed('types')
  const named = listed('collections')?.flatMap(name => model.collections.get(name) ?? [])
  const typed = types?.map(type => collectionOfPattern(model, type))
  const all = [...model.collections.values()].filter(isLogged)
  const wanted =
    named ?? all.filter(one => typed === undefined || typed.some(of => of === 'all' || of === one))
  const id = given.get('item_id')
  return {
    collections: wanted,
    isWanted: type => types === undefined || types.some(pattern => coversType(pattern, type)),
    itemId: id === null ? undefined : Number(id),
  }
}

export async function hearingReasons(parts: ReasonParts, wanted: Wanted): Promise<readonly Reason[]> {
  const reasons: Reason[] = []
  for (const collection of wanted.collections) {
    const types = typesOf(collection).filter(wanted.isWanted)
    if (types.length > 0) reasons.push(...(await ofCollection(parts, collection, types, wanted.itemId)))
  }
  return reasons
}

async function ofCollection(
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
    const told = `Not heard: ${types.join(', ')}.`
    return reasons.map(reason => ({ ...reason, types, message: `${told} ${reason.message}` }))
  }
  const isOwn = (type: string) => (collection.emits?.get(type)?.access.kind ?? 'anyone') !== 'anyone'
  const usual = types.filter(type => !isOwn(type))
  const reasons = usual.length > 0 ? [await heard(parts, collection, usual, collection.access.read, id)] : []
  for (const type of types.filter(isOwn)) {
    const { access } = collection.emits?.get(type) ?? { access: collection.access.read }
    reasons.push(await heard(parts, collection, [type], access, id))
  }
  return reasons
}

async function heard(
  parts: ReasonParts,
  collection: Collection,
  types: readonly string[],
  rule: Collection['access']['read'],
  id: number | undefined,
): Promise<Reason> {
  const { name } = collection
  const tree = await treeAt(parts, rule, collection, id)
  const source = ruleSource(rule)
  const told = types.join(', ')
  const message =
    id === undefined || tree?.holds == null
      ? `Heard: ${told}, of each item of ${name} for which the rule ${source} holds.`
      : `${tree.holds ? 'Heard' : 'Not heard'}: ${told} of ${name}/${id}. The rule ${source} ${tree.holds ? 'holds' : 'does not hold'}.${tree.holds ? '' : because(tree)}`
  const base = { kind: 'rule' as const, collection: name, operation: 'read', types }
  return { ...base, ...(id !== undefined && { id }), message, ...ofRule(rule, tree) }
}
