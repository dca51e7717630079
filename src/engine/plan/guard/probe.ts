/**
 * Guarded plans that explain a decision: whether a rule holds for one item, which related items decide, and a write without
 * its rules, to see the row that it would store. Only `src/api/explain/` runs them, in transactions that are always rolled back.
 */

import type { AccessClass, Principal } from '../../../base/principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { followPath } from '../../../model/rule/paths.ts'
import type { Rule } from '../../../model/rule/rule.ts'
import { always } from '../condition.ts'
import type {
  GuardedCreate,
  GuardedDelete,
  GuardedItem,
  GuardedList,
  GuardedPlan,
  GuardedSelected,
  GuardedShape,
  GuardedUpdate,
} from '../guarded.ts'
import type { Condition, RelationPath } from '../guarded-conditions.ts'
import { viewOf } from './model-view.ts'

/** Brands a shape as guarded. */
export type BrandPlan = <S extends GuardedShape>(
  shape: S,
  args: readonly JsonValue[],
  principal: Principal,
) => GuardedPlan<S>

export interface RuleProbes {
  /** Finds the item if the rule holds for it and this principal, whether or not the principal may read it. */
  holds(rule: Rule, collection: Collection, id: number, principal: Principal): GuardedPlan<GuardedItem>
  /** The first items that a relation leads to and for which the rule holds. */
  related(
    rule: Rule,
    collection: Collection,
    relation: string,
    id: number,
    principal: Principal,
  ): GuardedPlan<GuardedList>
  /** A stored value, of the row itself or along to-one relations, as `{"value":…}` or nested by relation. */
  value(path: string, collection: Collection, id: number, principal: Principal): GuardedPlan<GuardedItem>
  /** The write without its checks. */
  unchecked<S extends GuardedCreate | GuardedUpdate | GuardedDelete>(
    plan: GuardedPlan<S>,
    principal: Principal,
  ): GuardedPlan<S>
}

const uncached = { reads: [], personal: true, volatile: true, readsUnboundedLists: false } as const

const serviceAccessByAccess = new WeakMap<AccessClass, AccessClass>()

/** The same caller, exempt from the row security policies of the database. */
function withServiceAccess(principal: Principal): Principal {
  const { access } = principal
  const serviceAccess = serviceAccessByAccess.get(access) ?? {
    ...access,
    key: `explain ${access.key}`,
    system: true,
  }
  serviceAccessByAccess.set(access, serviceAccess)
  return { ...principal, access: serviceAccess }
}

function fieldAs(key: string, field: Field): GuardedSelected {
  return { kind: 'field', key, field: { field, when: always } }
}

function idOf({ fields }: Collection): GuardedSelected[] {
  const id = fields.get('id')
  return id ? [fieldAs('id', id)] : []
}

export function createProbes(model: Model, brand: BrandPlan): RuleProbes {
  const collectionOf = (name: string) => viewOf(model, nobody).collection(name)
  const item = (
    collection: Collection,
    rows: Condition,
    select: readonly GuardedSelected[],
  ): GuardedItem => ({ kind: 'item', collection, id: 0, rows, select, ...uncached })
  const condition = (rule: Rule, collection: Collection, { access }: Principal) =>
    viewOf(model, access).holds(rule, collection)
  return {
    holds: (rule, collection, id, principal) =>
      brand(
        item(collection, condition(rule, collection, principal), idOf(collection)),
        [id],
        withServiceAccess(principal),
      ),
    related(rule, collection, name, id, principal) {
      const relation = collection.relations.get(name)
      if (relation === undefined || relation.kind === 'one') throw new Error(`${name} leads to no list`)
      const target = collectionOf(relation.target)
      const path: RelationPath =
        relation.kind === 'many'
          ? { relation, target }
          : { relation, target, through: collectionOf(relation.through), joinRows: always }
      const idField = target.fields.get('id')
      const list: GuardedList = {
        kind: 'list',
        collection: target,
        within: { collection, id: 0, rows: always, path },
        rows: condition(rule, target, principal),
        sort: idField ? [{ field: { field: idField, when: always }, descending: false }] : [],
        window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
        select: idOf(target),
        ...uncached,
      }
      return brand(list, [id, 0, maxRelated], withServiceAccess(principal))
    },
    value(path, collection, id, principal) {
      const { steps, field } = followPath(path, collection, collectionOf)
      const select = steps.reduceRight<GuardedSelected>(
        (inner, path) => ({
          ...{ kind: 'relation', key: 'value', path, list: undefined },
          ...{ rows: always, when: always, select: [inner] },
        }),
        fieldAs('value', field),
      )
      return brand(item(collection, always, [select]), [id], withServiceAccess(principal))
    },
    unchecked({ shape, args }, principal) {
      const free = 'references' in shape ? { references: [] } : {}
      const before = 'before' in shape ? { before: [], rows: always } : {}
      const after = 'after' in shape ? { after: [] } : {}
      return brand(
        { ...shape, ...free, ...before, ...after, select: idOf(shape.collection) },
        args,
        withServiceAccess(principal),
      )
    },
  }
}

/** Only used to look up collections by name. */
const nobody: AccessClass = { key: 'names', signedIn: false, role: null, scopes: 'all', system: false }

/** The number of related items that an explanation reads. */
export const maxRelated = 3
